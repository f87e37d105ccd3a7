/* SPDX-License-Identifier: MIT */
/*
 * The instructions that ran before another one, along the graph's edges, through calls and returns,
 * with their estimated shares. Rules judge by this neighbourhood.
 */
#ifndef ASSAY_CULPRIT_PATH_H
#define ASSAY_CULPRIT_PATH_H

#include "culprit/rules.h"

struct paths;

/* Returns NULL without memory. All arguments must outlive the result. */
struct paths *paths_new(const struct estimate *e, const struct estimate_source *src,
			const struct fact_source *facts);
void paths_free(struct paths *p);

/* The facts of the block's k-th instruction; NULL: it cannot be decoded, or there is no memory. */
const struct fact *paths_fact(struct paths *p, const struct estimate_proc *proc, uint32_t block,
			      uint32_t k);
/* The facts, completed by the instructions right before it (front_place). */
const struct fact *paths_placed(struct paths *p, const struct estimate_proc *proc, uint32_t block,
				uint32_t k);
/* Describes the stalled instruction's neighbourhood: suspects, elsewhere, stores. */
void paths_case(struct paths *p, const struct estimate_proc *proc, uint32_t block, uint32_t k,
		struct culprit_case *c);

#endif
