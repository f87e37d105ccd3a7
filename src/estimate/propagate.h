/* SPDX-License-Identifier: MIT */
/*
 * Local propagation (seed 003, section 6.1.4): what flows in is what a block runs is what flows out, but at
 * entry and exit. Each new value goes to all of its class at once; none is negative; linear time.
 */
#ifndef ASSAY_ESTIMATE_PROPAGATE_H
#define ASSAY_ESTIMATE_PROPAGATE_H

#include "cfg/cfg.h"
#include "estimate/estimate.h"

/* Completes block[] and edge[], by the graph's numbers: what has CONFIDENCE_NONE is not known. -1 without
 * memory. */
int propagate(const struct cfg *g, struct estimate_value *block, struct estimate_value *edge);

#endif
