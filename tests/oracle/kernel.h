/* SPDX-License-Identifier: MIT */
/*
 * The kernel build of the interpreter (tests/bpf/interp.bpf.c), loaded and run on demand.
 */
#ifndef ASSAY_TESTS_KERNEL_H
#define ASSAY_TESTS_KERNEL_H

#include <stddef.h>

#include "arena.h"

struct kernel {
	struct interp_bpf *skel;
	struct bpf_program
		*prog; /* that of its programs which this kernel takes; with INTERP_CALLS in the
				   * environment the one for kernels before 6.9 */
	struct arena arena; /* the program's maps */
};

/* -1 if this machine does not allow it; why says what is in the way. */
int kernel_open(struct kernel *k, char *why, size_t n);
void kernel_close(struct kernel *k);
/* Runs lanes 0 … n - 1. -1 with errno. */
int kernel_run(struct kernel *k, uint32_t n);

#endif
