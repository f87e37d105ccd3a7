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

/* A factor of 0 clears all counts, and keeps sites, edges and calls in place. Counts are rounded
 * so that no bound becomes tighter. */
void profile_scale(struct profile *p, double factor);

#endif
