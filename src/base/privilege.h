/* SPDX-License-Identifier: MIT */
/*
 * Giving up what a process may do beyond its user. Under sudo the user is the one who called it (SUDO_UID, SUDO_GID).
 * Nothing that was given up comes back.
 */
#ifndef ASSAY_BASE_PRIVILEGE_H
#define ASSAY_BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/capability.h>

#include "base/err.h"

/* Some versions of libcap's header lack this capability. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* True if the capability is effective. */
bool privilege_has(cap_value_t cap);

/* True once the process has become that user: then root's files are closed to it. For hints. */
bool privilege_became_caller(void);

/* Gives up every capability but keep[0 .. n) of those the process has. -1 with err set. */
int privilege_keep(const cap_value_t *keep, size_t n, struct err *err);

/*
 * Becomes the user who called sudo, with that user's groups, and gives up every capability but keep[0 .. n) of those the
 * process has, n at most PRIVILEGE_KEEPS. A root login stays root and keeps root's rights on files (CAP_DAC_OVERRIDE):
 * in a container they belong to others. -1 with err set.
 */
#define PRIVILEGE_KEEPS 8
int privilege_drop(const cap_value_t *keep, size_t n, struct err *err);

/*
 * The same for a process that needs no privilege at all: nothing it executes gains any, either. A root login also keeps
 * CAP_SETUID and CAP_SETGID in reserve (permitted, not effective) for privilege_become_nobody(). -1 with err set.
 */
int privilege_none(struct err *err);

/* In a child process: root becomes the user nobody (65534), other users stay who they are; no capability remains. False
 * if that failed: the child must not go on. */
bool privilege_become_nobody(void);

#endif
