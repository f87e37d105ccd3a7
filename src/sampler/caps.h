/* SPDX-License-Identifier: MIT */
/* What this machine allows the sampler to do, and the commands that allow more. */
#ifndef ASSAY_SAMPLER_CAPS_H
#define ASSAY_SAMPLER_CAPS_H

#include <stdbool.h>

#include "base/err.h"

struct kernel_version {
	int major, minor, patch;
};

struct caps {
	char release[128]; /* as uname -r prints it */
	struct kernel_version kernel;
	bool new_enough; /* 5.17 */
	bool lockup;	 /* in the range where reading user memory from BPF can lock up */
	bool hardened;	 /* CONFIG_HARDENED_USERCOPY, or the configuration cannot be read */
	bool btf;	 /* /sys/kernel/btf/vmlinux */
	bool cap_bpf, cap_perfmon; /* effective (CAP_SYS_ADMIN counts) */
	bool cap_ptrace;	   /* effective */
	bool contained; /* the capabilities hold in a user namespace only: the kernel refuses to sample */
	bool pmu;	/* a cycle counter can be opened */
	int paranoid;  /* kernel.perf_event_paranoid, or -2 */
	long max_rate; /* kernel.perf_event_max_sample_rate, or 0 */
};

void caps_read(struct caps *c);
/* -1 with err and its remedy set if the sampler cannot run here. */
int caps_check(const struct caps *c, struct err *err);

/* Derives release, kernel, new_enough and lockup from `uname -r` and `uname -v`. Debian's release is 6.1.0 for every
 * 6.1; its version names the exact one: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)". */
void caps_kernel(struct caps *c, const char *release, const char *version);

/* Parses "6.1.0-18-amd64"; false, and 0.0.0, if the text is no version. */
bool kernel_version_parse(const char *release, struct kernel_version *v);
/* The kernels in which copy_from_user_nofault() can lock up with CONFIG_HARDENED_USERCOPY: called in an
 * interrupt, it takes vmap_area_lock by way of check_object_size(). From 5.19 ("mm/usercopy: Detect
 * vmalloc overruns") to d319f344561d "mm: Fix copy_from_user_nofault().", which is in 6.4 and of the
 * stable kernels in 6.1.36 and 6.3.10; 5.19, 6.0 and 6.2 ended without it. */
bool kernel_version_lockup(const struct kernel_version *v);

/* True if the kernel takes loops without calls (may_goto, Linux 6.9). */
bool caps_can_loop(void);

#endif
