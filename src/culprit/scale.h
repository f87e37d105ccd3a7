/* SPDX-License-Identifier: MIT */
/*
 * The scales of the parts of a program without counters, from their time: the schedules of blocks,
 * and what windows show that instructions meet, tell what an execution usually takes, and bound
 * what it can take.
 */
#ifndef ASSAY_CULPRIT_SCALE_H
#define ASSAY_CULPRIT_SCALE_H

struct culprits;

/* Sets the scales of the estimate's parts, and finds paths at these. -1 without memory. */
int scales_fit(struct culprits *c);

#endif
