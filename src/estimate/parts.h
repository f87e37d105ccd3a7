/* SPDX-License-Identifier: MIT */
/*
 * Parts of a program: blocks whose frequencies are tied to one another by control flow that windows
 * saw.
 *
 * Where windows saw control pass often, along edges and calls, the frequencies of two blocks
 * compare as well as windows can tell. Where control was hardly ever seen to pass (between a loop
 * of seconds and the code after it) they do not compare: the observations of either then depend on
 * how long it took. So a part has a scale of its own, which is drawn to those of other parts in
 * proportion to how often control was seen to pass between them.
 */
#ifndef ASSAY_ESTIMATE_PARTS_H
#define ASSAY_ESTIMATE_PARTS_H

#include "estimate/estimate.h"

struct part {
	double sum,
		/* evidence of the scale's logarithm: sum of weight * logarithm, and of weights 1
		 * / variance */
		weight;
	double scale;	 /* solution: the logarithm */
	double variance; /* variance of the solution */
	double samples;
	bool counted; /* the scale follows from counters of the program itself */
};

/* Control flow that was seen between two parts. */
struct part_tie {
	uint32_t a, b;
	double passed;
	bool call; /* a calls b, which runs as often as all parts call it; that tells nothing of these */
	double flow; /* calls, by relative frequency */
};

/*
 * What a counter tells of a part whose loop began anew in the share `often` of the gaps between windows: the scale, as
 * a logarithm, if it did so at most once in a gap.
 */
struct part_turns {
	uint32_t part;
	double scale, variance, often;
	double gaps; /* number of gaps */
};

struct part_block {
	uint32_t proc, block;
};

struct parts {
	uint32_t *of; /* by block, numbered through the program */
	struct part *part;
	uint32_t n;
	uint32_t *first; /* by part, and one more: index of its first block in `block` */
	struct part_block *block;
	struct part_tie *tie;
	size_t nties;
	struct part_turns *turns;
	size_t nturns, turns_room;
};

/* Finds the parts of an estimate's blocks, without evidence; frees the estimate's earlier parts.
 * -1 without memory. */
int parts_make(struct estimate *e);
void parts_free(struct parts *p);
int parts_add_turns(struct parts *p, const struct part_turns *t); /* -1 without memory */
/* Takes the frequencies of calls, once they are estimated. */
void parts_weigh_calls(struct estimate *e);
/* Solves for each part's scale, from its evidence and the parts it is tied to. */
void parts_solve(struct parts *p);
/* Multiplies the frequencies of a part's blocks, and of the edges that leave them, by `factor`. */
void parts_multiply(struct estimate *e, uint32_t part, double factor);

static inline uint32_t part_of(const struct estimate *e, const struct estimate_proc *p,
			       uint32_t block)
{
	return e->parts->of[p->first + block];
}

#endif
