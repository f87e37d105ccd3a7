/* SPDX-License-Identifier: MIT */
/*
 * The miss-ratio curve of a sampled recording (record --reuse): estimated, with bounds.
 *
 * Processes that were watched enough have a curve each, the others one together; they add up by their touches. Bounds
 * come from drawing the observations anew, and the rate of touches with them.
 */
#ifndef ASSAY_REPORT_REUSE_SAMPLED_H
#define ASSAY_REPORT_REUSE_SAMPLED_H

#include "model/statstack.h"
#include "report/reading.h"

#define SAMPLED_GROUPS 8
#define SAMPLED_DRAWS 100

struct sampled_group {
	double share; /* of the touches */
	struct statstack best, draw[SAMPLED_DRAWS];
	double across[SAMPLED_DRAWS], odds[SAMPLED_DRAWS]; /* by which draws are off */
};

struct sampled_reuse {
	unsigned ngroups;
	struct sampled_group *group;
	double touches; /* an estimate */
	double lines;	/* beyond which nothing is known */
	uint64_t windows, watches, hits;
};

/* Of all processes, or one. -1 with err set: ERR_EMPTY without such observations. */
int sampled_reuse_make(struct sampled_reuse *s, const struct reading *r, unsigned process,
		       struct err *err);
/* The share of touches that a cache of so many lines misses; low and high: 95 % of the draws are between. */
double sampled_reuse_misses(const struct sampled_reuse *s, double lines, double *low, double *high);
void sampled_reuse_free(struct sampled_reuse *s);

#endif
