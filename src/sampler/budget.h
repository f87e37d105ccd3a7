/* SPDX-License-Identifier: MIT */
/*
 * The CPU time that recording a whole machine may take (`record --budget`). Where it takes more, windows are passed over: of
 * every so many samples one is run ahead, at random, and stands for the others (stream/window.h). Samples of time stay as many.
 *
 * Time that is not used is saved up for a while, so that code that is met for the first time is looked at, and what is written
 * now and then costs no windows. What was overdrawn is made up for, however long that takes.
 *
 * Nothing here reads a clock: the same figures lead to the same decisions.
 */
#ifndef ASSAY_SAMPLER_BUDGET_H
#define ASSAY_SAMPLER_BUDGET_H

#include <stdint.h>

#include "stream/window.h"

#define BUDGET_MOST WINDOW_STANDS_MOST /* windows that one stands for, at most */
#define BUDGET_SAVED_S 5	       /* seconds whose budget can be saved up */

struct budget {
	double share;	  /* CPU time that may be taken, for each ns that passes; 0: any */
	double left;	  /* ns; negative: more was taken than that */
	uint64_t elapsed; /* the figures that it was told last */
	uint64_t taken;
	unsigned every; /* one window of so many is run */
};

/* part: of the CPU time of so many CPUs; 0: there is no limit. */
void budget_begin(struct budget *b, double part, unsigned cpus);
/* Tells that so many ns have passed since the beginning, and that recording took so much CPU time. Returns of how many windows
 * one is to be run from now on. */
unsigned budget_tell(struct budget *b, uint64_t elapsed, uint64_t taken);

#endif
