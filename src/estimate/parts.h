/* SPDX-License-Identifier: MIT */
/*
 * Parts of a program: blocks whose frequencies are tied to one another by control that windows saw pass.
 *
 * Where it was seen to pass often, along edges and calls, two blocks' frequencies compare as well as windows can tell. Where
 * it was hardly ever seen (a loop of seconds, and what follows it) they do not: how often windows observed either
 * says how long it took. So a part has a scale of its own, drawn to that of others as far as control was seen to pass
 * between them.
 */
#ifndef ASSAY_ESTIMATE_PARTS_H
#define ASSAY_ESTIMATE_PARTS_H

#include "estimate/estimate.h"

struct part {
	double sum,
		weight; /* what is known of its scale's logarithm: sum of weight * logarithm, 1 / variance */
	double scale;	 /* found: the logarithm */
	double variance; /* of that */
	double samples;
	bool counted; /* it is by what the program counts itself */
};

/* Control that was seen to pass between two parts. */
struct part_tie {
	uint32_t a, b;
	double passed;
};

struct part_block {
	uint32_t proc, block;
};

struct parts {
	uint32_t *of; /* by block, numbered through the program */
	struct part *part;
	uint32_t n;
	uint32_t *first; /* by part, and one more: its first in `block` */
	struct part_block *block;
	struct part_tie *tie;
	size_t nties;
};

/* The parts of an estimate's blocks, nothing known of any; its parts, if it has any, are freed. -1 without memory. */
int parts_make(struct estimate *e);
void parts_free(struct parts *p);
/* Each part's scale: by what is known of it and of those it is tied to. */
void parts_solve(struct parts *p);
/* Its blocks, and the edges that leave them, run `factor` times as often. */
void parts_multiply(struct estimate *e, uint32_t part, double factor);

static inline uint32_t part_of(const struct estimate *e, const struct estimate_proc *p,
			       uint32_t block)
{
	return e->parts->of[p->first + block];
}

#endif
