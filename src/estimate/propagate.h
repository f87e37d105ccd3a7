/* SPDX-License-Identifier: MIT */
/*
 * Local propagation (Anderson et al., "Continuous profiling: where have all the cycles gone?", SOSP
 * 1997): inflow, executions and outflow of a block are equal, except at entry and exit. Each new
 * value goes to all of its class at once; no value is negative; the time is linear.
 */
#ifndef ASSAY_ESTIMATE_PROPAGATE_H
#define ASSAY_ESTIMATE_PROPAGATE_H

#include "cfg/cfg.h"
#include "estimate/estimate.h"

/* Completes block[] and edge[], indexed by the graph's numbers; CONFIDENCE_NONE marks unknown
 * values. -1 without memory. */
int propagate(const struct cfg *g, struct estimate_value *block, struct estimate_value *edge);

#endif
