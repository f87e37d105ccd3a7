/* SPDX-License-Identifier: MIT */
/*
 * Whether a register counts how often an instruction ran (observe/tallies.h): what else can change the register.
 *
 * When control comes to the instruction the register must have been set by itself, by those that count with it, or to a constant,
 * on every way that leads there, as far as windows saw ways taken. What else sets it may be a pointer that others
 * advance, too.
 */
#ifndef ASSAY_ESTIMATE_COUNTER_H
#define ASSAY_ESTIMATE_COUNTER_H

#include "estimate/estimate.h"
#include "observe/tallies.h"

struct counter_source {
	const struct estimate *e;
	const struct estimate_source *src;
};

/* For tallies_groups: ctx is a struct counter_source. Words of memory are taken as they are. */
bool counter_is_sure(void *ctx, const struct tally *t);

/* Whether it counts with a register, in its procedure's frame, or with a variable of fixed address into which windows saw nothing
 * else store: nothing else has a part in that. */
bool counter_is_own(void *ctx, const struct tally *t);

#endif
