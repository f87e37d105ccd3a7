/* SPDX-License-Identifier: MIT */
/*
 * How fast the program runs in a window, as far as its branches tell.
 *
 * Time is sampled evenly, so of a phase that runs at twice the speed there are half as many windows as instructions
 * would have. Where a window begins does not correct that: in the slow phase all of its windows are of the slow phase. A
 * predictor that goes on from window to window tells how often branches are wrong in this one: an instruction takes
 *
 *   PACE_CYCLES + PACE_WRONG * mispredictions per instruction
 *
 * and the window weighs as much more as that is less than it is on average of windows so far. What else holds a phase
 * up is not known.
 */
#ifndef ASSAY_OBSERVE_PACE_H
#define ASSAY_OBSERVE_PACE_H

#include "observe/profile.h"

#define PACE_CYCLES 0.3 /* of an instruction that nothing holds up for long */
#define PACE_WRONG 20	/* cycles, as culprit/machine.h has them */
#define PACE_PRIOR 30	/* instructions that would be as often wrong as those of other windows */
/* Branches behind which a window is looked at: up to there what the predictor knows is of another place. */
#define PACE_OUTCOMES 8

/* The predictor sees the window's branches. *factor: what it weighs, beside others. -1 without memory. */
int pace_window(struct profile *p, const struct window *w, double *factor);
/* Whether the i-th instruction of that window was a branch that was mispredicted. */
bool pace_wrong(const struct profile *p, uint32_t i);
/* Whether it is a branch whose outcome, or target, is known. */
bool pace_is_predicted(const struct retired *r);
void pace_free(struct profile *p);

#endif
