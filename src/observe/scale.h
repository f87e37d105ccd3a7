/* SPDX-License-Identifier: MIT */
/*
 * Multiplies what a profile has counted: a sample of a run stands for more than itself. Counts, hot lists with their
 * bounds, edges, calls, conflicts and simulated misses can be scaled. Working sets and reuse distances cannot: twice as
 * many touches are neither twice as many lines nor twice as far apart.
 */
#ifndef ASSAY_OBSERVE_SCALE_H
#define ASSAY_OBSERVE_SCALE_H

#include "observe/profile.h"

/* A factor of 0 forgets what has been counted, and keeps sites, edges and calls where they are. Counts are rounded;
 * bounds are never made tighter. */
void profile_scale(struct profile *p, double factor);

#endif
