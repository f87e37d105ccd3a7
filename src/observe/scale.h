/* SPDX-License-Identifier: MIT */
/*
 * Multiplies the counts of a profile, because a sample of a run stands for more than itself.
 * Counts, hot lists with their bounds, edges, calls, conflicts and simulated misses can be scaled.
 * Working sets and reuse distances cannot: twice as many touches are neither twice as many lines
 * nor twice as far apart.
 */
#ifndef ASSAY_OBSERVE_SCALE_H
#define ASSAY_OBSERVE_SCALE_H

#include "observe/profile.h"

/* Multiplies the profile's counts by the factor. A factor of 0 clears all counts, and keeps sites,
 * edges and calls in place. Counts are rounded so that no bound becomes tighter. */
void profile_scale(struct profile *p, double factor);
/* Adds src times the factor to dst, as profile_merge() does, and clears src as a factor of 0 does. */
int profile_move(struct profile *dst, struct profile *src, double factor, struct err *err);

/* Limits every site's windows, or batches, to its executions. Executions may come to nothing although a batch had some,
 * because the exact engine does not read all counters of a block at once. */
void profile_limit_windows(struct profile *p);

/* A count times the factor. The count may be below 0 for a while, because counters are not read all
 * at once. */
static inline uint64_t scaled(uint64_t n, double factor)
{
	double v = (double)(int64_t)n * factor;

	if (!n)
		return 0;
	if (factor == (double)(uint64_t)factor)
		return n * (uint64_t)factor;
	return (uint64_t)(int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

#endif
