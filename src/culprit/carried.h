/* SPDX-License-Identifier: MIT */
/*
 * Chains through memory: an execution of a block that loads what its last execution stored, and
 * computes from that what it stores, waits for the last one. A block's schedule has only chains
 * through registers. Cores rename places of a frame that general registers are stored to and loaded
 * from (bench/latency): there only what is computed in between takes time.
 */
#ifndef ASSAY_CULPRIT_CARRIED_H
#define ASSAY_CULPRIT_CARRIED_H

#include "culprit/culprit_priv.h"

/* The cycles of the longest such chain of the block, for the mean execution; 0: there is none. */
double carried_cycles(const struct culprits *c, const struct estimate_proc *p, uint32_t block);

/* Whether the result of the block's i-th instruction can reach its next execution: through registers, or places of the frame. */
bool carried_to_itself(const struct culprits *c, const struct estimate_proc *p, uint32_t block,
		       uint32_t i);

#endif
