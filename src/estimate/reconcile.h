/* SPDX-License-Identifier: MIT */
/*
 * Estimates made to obey flow conservation in a procedure: inflow, executions and outflow of a
 * block are equal.
 *
 * A minimum-cost flow, as in He et al., "Profile inference revisited", POPL 2022: of all flows that
 * obey, the one with the least distance from the estimates, where a change costs more the more
 * certain the estimate is, relative to its size. GLPK solves it.
 */
#ifndef ASSAY_ESTIMATE_RECONCILE_H
#define ASSAY_ESTIMATE_RECONCILE_H

#include "cfg/cfg.h"
#include "estimate/estimate.h"

#define RECONCILE_MAX 1000 /* blocks above which GLPK's out-of-kilter algorithm takes too long */

/*
 * Replaces block[] and edge[], indexed by the graph's numbers; values with CONFIDENCE_NONE are free
 * to choose. Code that is not reached from the entry, and virtual edges, do not change. Returns 0;
 * 1: the procedure is too large or has no solution within reach, and nothing changed; -1 with err
 * set: no memory.
 */
int reconcile(const struct cfg *g, struct estimate_value *block, struct estimate_value *edge,
	      struct err *err);

#endif
