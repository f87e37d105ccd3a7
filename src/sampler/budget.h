/* SPDX-License-Identifier: MIT */
/*
 * The CPU time that recording a whole machine may take (`record --budget`). Where recording takes more, windows are
 * passed over: of N samples one is run ahead, chosen at random, and its window stands for those of all N
 * (stream/window.h). No sample of time is passed over.
 *
 * Unused time is saved up for a while, so that code that is met for the first time is looked at, and occasional writing
 * costs no windows. Overdrawn time is made up for, however long that takes.
 *
 * Nothing here reads a clock: the same figures lead to the same decisions.
 */
#ifndef ASSAY_SAMPLER_BUDGET_H
#define ASSAY_SAMPLER_BUDGET_H

#include <stdint.h>

#include "stream/window.h"

#define BUDGET_MOST WINDOW_STANDS_MOST /* largest number of windows that one window stands for */
#define BUDGET_SAVED_S 5	       /* seconds whose budget can be saved up */

struct budget {
	double share;	  /* CPU time that may be taken for each ns that passes; 0: without limit */
	double left;	  /* saved CPU time in ns; negative: more was taken than allowed */
	uint64_t elapsed; /* the figures that budget_tell() was given last */
	uint64_t taken;
	unsigned every; /* N: one window of N is run */
};

/* part: the share of all CPUs' time that recording may take; 0: there is no limit. */
void budget_begin(struct budget *b, double part, unsigned cpus);
/* Tells how many ns have passed since the beginning, and how much CPU time, in ns, recording took in them. Returns N:
 * from now on one window of N is to be run. */
unsigned budget_tell(struct budget *b, uint64_t elapsed, uint64_t taken);

#endif
