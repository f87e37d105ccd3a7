/* SPDX-License-Identifier: MIT */
/*
 * Real windows: a program is stopped anywhere, the interpreter says what its next instructions will
 * do, and then the CPU does them, one by one.
 */
#ifndef ASSAY_TESTS_WINDOWS_H
#define ASSAY_TESTS_WINDOWS_H

#include <stdint.h>

#include "x86/uop.h"
#include "proc.h"

#define WINDOW_BURST 32

struct windows_opts {
	char **argv; /* the program, run again whenever it has ended */
	uint64_t seed;
	uint64_t count;		    /* windows wanted */
	uint32_t least_us, most_us; /* how long it runs between windows */
	/* Called with what a window says of an instruction, unless NULL; `what`: enum uop_rec, UREC_NONE: the
	 * address that it accesses. The program stands where the window began. */
	void (*said)(void *ctx, const struct proc *p, uint64_t ip, int what, uint64_t value);
	void *ctx;
};

struct windows_counts {
	uint64_t windows, full, instructions, runs;
	uint64_t cut; /* windows that a signal or the end of the program cut short */
	uint64_t loads, stores, results;
	uint64_t explained; /* memory that the kernel or another thread wrote */
	uint64_t differences;
	uint64_t stops[RA_STOP_N];
};

/* -1 if the program cannot be run. Prints differences. */
int windows_run(const struct windows_opts *o, struct windows_counts *n);

#endif
