/* SPDX-License-Identifier: MIT */
/*
 * Schedules of loops of several blocks. A chain of results through several blocks is in no block's schedule, so the loop is
 * scheduled as one block, and each of its blocks that mostly runs there takes its part of that.
 */
#ifndef ASSAY_ESTIMATE_ROUNDS_H
#define ASSAY_ESTIMATE_ROUNDS_H

#include "estimate/schedules.h"

/* Schedules the loops of blocks that have schedules. -1 without memory. */
int rounds_schedule(struct schedules *s, const struct estimate *e,
		    const struct estimate_source *src);

#endif
