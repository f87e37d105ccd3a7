/* SPDX-License-Identifier: MIT */
/*
 * Two branch predictors with plain parameters, which are no particular CPU's. A modern one:
 *
 *   direction  TAGE (Seznec, Michaud, "A case for (partially) tagged geometric history length branch prediction",
 *              JILP 2006): two-bit counters by address, and tables that are tagged and indexed by address and the
 *              outcomes of the last 6 to 130 branches; the longest match predicts
 *   targets    of indirect jumps and calls: a table tagged by address and the last targets, else the last target
 *   returns    a stack of 32
 *
 * And a simple one, with 16384 two-bit counters that are indexed by address and the last outcomes (gshare: McFarling, "Combining
 * Branch Predictors", WRL Technical Note TN-36, 1993), targets by address alone, and the same stack.
 */
#ifndef ASSAY_MODEL_BRANCH_H
#define ASSAY_MODEL_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

struct branch_predictor;

/* Make the modern and the simple predictor. NULL: no memory. */
struct branch_predictor *branch_new(void);
struct branch_predictor *branch_new_simple(void);
void branch_free(struct branch_predictor *p);

/* Each function returns whether the branch was mispredicted, and trains the predictor. */
bool branch_conditional(struct branch_predictor *p, uint64_t pc, bool taken);
bool branch_indirect(struct branch_predictor *p, uint64_t pc, uint64_t target);
bool branch_return(struct branch_predictor *p, uint64_t target);
/*
 * The modern predictor: whether it knew the branch, indirect jump or call of its last prediction well: its counters were as
 * far to one side as they go, or it had seen the target after the same ones before. A predictor that sees a small part of
 * what runs is not sure where one that sees all has learned long ago.
 */
bool branch_sure(const struct branch_predictor *p);
/* Pushes a return address; called for each call, in addition. */
void branch_call(struct branch_predictor *p, uint64_t next);

#endif
