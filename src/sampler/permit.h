/* SPDX-License-Identifier: MIT */
/*
 * Which processes the user may sample. The kernel lets anybody with CAP_PERFMON sample every process, and the sampler
 * keeps values of its memory. Therefore a user who has CAP_BPF and CAP_PERFMON alone samples only the processes that
 * this user could trace (ptrace(2)).
 */
#ifndef ASSAY_SAMPLER_PERMIT_H
#define ASSAY_SAMPLER_PERMIT_H

#include <sys/types.h>

#include "base/err.h"

/* -1 with err set if the user could not trace that process or thread. To be called after events are attached: from then
 * on the kernel removes them when the process executes a set-uid program. */
int permit_process(pid_t pid, struct err *err);
/* Checks that the user may trace every process. -1 with err set if not; the argument says what the
 * user wants, such as "-a samples ...", for the message. */
int permit_all(const char *what, struct err *err);

#endif
