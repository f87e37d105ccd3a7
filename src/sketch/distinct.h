/* SPDX-License-Identifier: MIT */
/*
 * How many different values a stream has, in 64 bytes: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the
 * analysis of a near-optimal cardinality estimation algorithm", AofA 2007), with linear counting where few registers are used.
 * The standard error is 13 %. The sketch of two streams together is exact: of each register, the larger one.
 */
#ifndef ASSAY_SKETCH_DISTINCT_H
#define ASSAY_SKETCH_DISTINCT_H

#include <stdint.h>

#define DISTINCT_REGISTERS 64
#define DISTINCT_RANK_MAX 59 /* bits of a hash behind those that choose the register, and one */

struct distinct {
	uint8_t rank[DISTINCT_REGISTERS];
};

void distinct_add(struct distinct *d, uint64_t value);
void distinct_merge(struct distinct *to, const struct distinct *from);
/* The estimated number of different values. */
double distinct_count(const struct distinct *d);
/* The estimated number of values that a stream draws from if it draws them alike, of which n drawn ones were added;
 * INFINITY: n is too small to tell. */
double distinct_drawn_from(const struct distinct *d, double n);

#endif
