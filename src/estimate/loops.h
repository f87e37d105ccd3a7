/* SPDX-License-Identifier: MIT */
/*
 * Loops of several blocks: the blocks through which control comes most often from one execution of a block to its next
 * one, those of the procedures that it calls included.
 */
#ifndef ASSAY_ESTIMATE_LOOPS_H
#define ASSAY_ESTIMATE_LOOPS_H

#include "estimate/estimate.h"

#define LOOP_STEPS 64 /* most blocks of a loop */

struct loop_step {
	uint32_t proc, block;
};

struct loops;

/* NULL without memory. e must outlive the result. */
struct loops *loops_new(const struct estimate *e);
void loops_free(struct loops *l);
/* Finds the loop that begins with a procedure's block. *again: the share of its executions after which it is executed again.
 * Returns the number of its blocks, at least 1; 0: control does not come back within LOOP_STEPS blocks, or `insns` instructions,
 * or it is not known where it goes. */
unsigned loops_find(const struct loops *l, uint32_t proc, uint32_t block, unsigned insns,
		    struct loop_step step[LOOP_STEPS], double *again);

#endif
