/* SPDX-License-Identifier: MIT */
/*
 * How often a branch goes where it was not expected to, as far as windows tell.
 */
#ifndef ASSAY_ESTIMATE_WRONG_H
#define ASSAY_ESTIMATE_WRONG_H

#include "observe/profile.h"

/* The part of its executions in which it goes another way than the commonest one: of a conditional branch, an indirect
 * jump or call; 0 of others. n: observations, 0 if there are none: then it is not known, and what is usual. s: not NULL;
 * cls: what the instruction is (enum insn_class). */
double wrong_rarer(const struct site *s, uint8_t cls, double *n);
/* … in which a predictor that learned from windows (observe/locality.h) had it wrong, if that is not more. NULL: not
 * observed. */
double wrong_predicted(const struct site *s, uint8_t cls);

#define WRONG_USUAL 0.01 /* of what was never observed */

#endif
