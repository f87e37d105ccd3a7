/* SPDX-License-Identifier: MIT */
/*
 * Control groups, by name: those of the hierarchy that has the kernel's perf events.
 */
#ifndef ASSAY_SAMPLER_CGROUP_H
#define ASSAY_SAMPLER_CGROUP_H

#include <stddef.h>

#include "base/err.h"

/* Opens a group's folder: its path from the hierarchy's root (system.slice/nginx.service), as /proc/PID/cgroup has it, or
 * the folder itself. A descriptor, or -1 with err set. */
int cgroup_open(const char *name, struct err *err);
/* The group of a process, a path from the hierarchy's root ("/system.slice/nginx.service"), into buf; "" if it is not known. */
void cgroup_of(int pid, char *buf, size_t n);

#endif
