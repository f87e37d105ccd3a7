/* SPDX-License-Identifier: MIT */
/* How often a branch is likely mispredicted, by the evidence of windows. */
#ifndef ASSAY_ESTIMATE_WRONG_H
#define ASSAY_ESTIMATE_WRONG_H

#include "observe/profile.h"

/* The share of executions in which a conditional branch, an indirect jump or a call does not go its
 * most frequent way; 0 for other instructions. n: number of observations, without which the usual
 * share is returned. s: not NULL; cls: the instruction's enum insn_class. */
double wrong_rarer(const struct site *s, uint8_t cls, double *n);
/* Share of the executions that a branch mispredicts: wrong_rarer(), or less if a predictor that learned from windows
 * (observe/locality.h) mispredicted a smaller share. NULL: the site was not observed. */
double wrong_predicted(const struct site *s, uint8_t cls);

#define WRONG_USUAL 0.01 /* share for a branch that was never observed */

#endif
