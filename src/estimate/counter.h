/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a register counts how often an instruction ran (observe/tallies.h), by looking
 * for other code that can change the register.
 *
 * When control comes to the instruction, the register must have been set by the instruction itself,
 * by those that count with it, or to a constant, on every way that windows saw taken. A register
 * that something else sets may be a pointer that other code advances, too.
 */
#ifndef ASSAY_ESTIMATE_COUNTER_H
#define ASSAY_ESTIMATE_COUNTER_H

#include "estimate/estimate.h"
#include "observe/tallies.h"

struct counter_source {
	const struct estimate *e;
	const struct estimate_source *src;
};

/* For tallies_groups: ctx is a struct counter_source. Words of memory are accepted without a
 * check. */
bool counter_is_sure(void *ctx, const struct tally *t);

/* Whether nothing else can change the counter: a register, a word of its procedure's frame, or a
 * variable of fixed address that windows saw nothing else store to. */
bool counter_is_own(void *ctx, const struct tally *t);

/* Whether the two lie in different parts of the program. */
bool counters_are_apart(void *ctx, const struct tally *a, const struct tally *b);

#endif
