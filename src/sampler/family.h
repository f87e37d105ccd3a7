/* SPDX-License-Identifier: MIT */
/*
 * The processes that are attached to: those that the user names, and the descendants that these already have. Later
 * descendants inherit the events.
 */
#ifndef ASSAY_SAMPLER_FAMILY_H
#define ASSAY_SAMPLER_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "sampler/events.h"

struct family {
	pid_t *pid; /* processes whose threads have events */
	size_t n, cap;
	unsigned refused; /* descendants that the user may not trace: they have no events */
};

/* Attaches to all threads of a process that the user may trace. -1 with err set. */
int family_add(struct family *f, struct events *e, pid_t pid, struct err *err);
/* Attaches to the descendants of all members. -1 with err set only if something other than a descendant's end or the
 * user's rights prevents it. */
int family_follow(struct family *f, struct events *e, struct err *err);
void family_fini(struct family *f);

#endif
