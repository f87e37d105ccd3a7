/* SPDX-License-Identifier: MIT */
/*
 * The pace of a window, as far as its branches tell.
 *
 * Time is sampled evenly, so a phase at twice the speed has half as many windows as its
 * instructions should have. The place where a window begins does not correct that, because in a
 * slow phase all windows are slow. A predictor that keeps its state from window to window tells the
 * rate of mispredictions in a window. An instruction then takes
 *
 *   PACE_CYCLES + PACE_WRONG * mispredictions per instruction
 *
 * and the window's weight is the mean of this over earlier windows, divided by this window's. Other
 * reasons for a slow phase are not known.
 */
#ifndef ASSAY_OBSERVE_PACE_H
#define ASSAY_OBSERVE_PACE_H

#include "observe/profile.h"

#define PACE_CYCLES 0.3 /* cycles of an instruction without long stalls */
#define PACE_WRONG 20	/* cycles of a misprediction, as in cpu/penalties.h */
#define PACE_PRIOR \
	30 /* weight, in instructions, that the mean rate of mispredictions has beside a window's own */
/* Branches after which a window is examined; before that the predictor's history belongs to another
 * place. */
#define PACE_OUTCOMES 8

/* Runs the predictor over the window's branches. *factor: the window's weight relative to
 * others. -1 without memory. */
int pace_window(struct profile *p, const struct window *w, double *factor);
/* Whether the i-th instruction of the last window was a mispredicted branch. */
bool pace_wrong(const struct profile *p, uint32_t i);
/* Whether the predictor was sure of that branch. */
bool pace_sure(const struct profile *p, uint32_t i);
/* Whether the instruction is a branch with a known outcome, or target. */
bool pace_is_predicted(const struct retired *r);
void pace_free(struct profile *p);

#endif
