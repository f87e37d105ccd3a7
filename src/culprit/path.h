/* SPDX-License-Identifier: MIT */
/*
 * What ran before an instruction, along the graph's edges, through calls and returns, as often as the
 * estimate says: the neighbourhood that rules judge by.
 */
#ifndef ASSAY_CULPRIT_PATH_H
#define ASSAY_CULPRIT_PATH_H

#include "culprit/rules.h"

struct paths;

/* NULL without memory. What it is given outlives it. */
struct paths *paths_new(const struct estimate *e, const struct estimate_source *src,
			const struct fact_source *facts);
void paths_free(struct paths *p);

/* The k-th instruction of the block; NULL: it cannot be decoded, or there is no memory. */
const struct fact *paths_fact(struct paths *p, const struct estimate_proc *proc, uint32_t block,
			      uint32_t k);
/* The same, with what comes right before it taken into account (front_place). */
const struct fact *paths_placed(struct paths *p, const struct estimate_proc *proc, uint32_t block,
				uint32_t k);
/* Fills in that instruction and its neighbourhood: suspects, elsewhere, stores. */
void paths_case(struct paths *p, const struct estimate_proc *proc, uint32_t block, uint32_t k,
		struct culprit_case *c);

#endif
