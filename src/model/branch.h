/* SPDX-License-Identifier: MIT */
/*
 * A modern branch predictor with plain parameters, which is no particular CPU's.
 *
 *   direction  TAGE (Seznec, Michaud, "A case for (partially) tagged geometric history length branch prediction",
 *              JILP 2006): two-bit counters by address, and tables that are tagged and indexed by address and the
 *              outcomes of the last 6 to 130 branches; the longest match predicts
 *   targets    of indirect jumps and calls: a table tagged by address and the last targets, else the last target
 *   returns    a stack of 32
 */
#ifndef ASSAY_MODEL_BRANCH_H
#define ASSAY_MODEL_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

struct branch_predictor;

struct branch_predictor *branch_new(void); /* Returns NULL without memory. */
void branch_free(struct branch_predictor *p);

/* Each function returns whether the branch was mispredicted, and trains the predictor. */
bool branch_conditional(struct branch_predictor *p, uint64_t pc, bool taken);
bool branch_indirect(struct branch_predictor *p, uint64_t pc, uint64_t target);
bool branch_return(struct branch_predictor *p, uint64_t target);
/* Pushes a return address; called for each call, in addition. */
void branch_call(struct branch_predictor *p, uint64_t next);

#endif
