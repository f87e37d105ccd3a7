/* SPDX-License-Identifier: MIT */
/*
 * The miss-ratio curve of a sampled recording (record --reuse): estimated, with bounds.
 *
 * Processes that were watched enough have curves of their own, the others together; of each those parts (reuse_parts.h)
 * have one curve together that touch lines about as fast. Curves add up by the touches that were executed. Bounds come from
 * drawing the observations anew, and with them how often each part was executed.
 */
#ifndef ASSAY_REPORT_REUSE_SAMPLED_H
#define ASSAY_REPORT_REUSE_SAMPLED_H

#include "model/statstack.h"
#include "report/reuse_parts.h"

#define SAMPLED_GROUPS 24
#define SAMPLED_DRAWS 100

struct sampled_group {
	const struct reuse_part **part;
	size_t n;
	double touches, drawn[SAMPLED_DRAWS]; /* touches executed: as estimated, and in each draw */
	struct statstack best, draw[SAMPLED_DRAWS];
	double across[SAMPLED_DRAWS], odds[SAMPLED_DRAWS]; /* errors of each draw */
	double tail[SAMPLED_DRAWS];
};

struct sampled_reuse {
	struct reuse_parts parts;
	const struct reuse_part **part; /* sorted by group */
	unsigned ngroups;
	struct sampled_group *group;
	double touches; /* estimated touches */
	double lines;	/* size beyond which nothing is known */
	uint64_t hits;
};

/* Makes the curves of all processes, or one. -1 with err set: ERR_EMPTY without such
 * observations. */
int sampled_reuse_make(struct sampled_reuse *s, struct reading *r, unsigned process,
		       struct err *err);
/* The share of touches that a cache of that many lines misses; low and high: bounds that contain
 * 95 % of the draws. */
double sampled_reuse_misses(const struct sampled_reuse *s, double lines, double *low, double *high);
void sampled_reuse_free(struct sampled_reuse *s);

#endif
