/* SPDX-License-Identifier: MIT */
/*
 * Estimates made to obey the flow of a procedure: what flows into a block is what it runs is what flows out.
 *
 * A minimum-cost flow (as profi, POPL 2022): of all flows that obey, the one whose distance from the
 * estimates is least, where a change costs the more the surer the estimate is, relative to its size. GLPK
 * solves it.
 */
#ifndef ASSAY_ESTIMATE_RECONCILE_H
#define ASSAY_ESTIMATE_RECONCILE_H

#include "cfg/cfg.h"
#include "estimate/estimate.h"

#define RECONCILE_MAX 1000 /* blocks: beyond, GLPK's out-of-kilter algorithm takes too long */

/*
 * block[] and edge[], by the graph's numbers, are replaced; what has CONFIDENCE_NONE costs nothing to choose.
 * What is not reached from the entry, and virtual edges, are left alone. 0; 1: too large, or no solution within
 * reach, they are as they were; -1 with err set: no memory.
 */
int reconcile(const struct cfg *g, struct estimate_value *block, struct estimate_value *edge,
	      struct err *err);

#endif
