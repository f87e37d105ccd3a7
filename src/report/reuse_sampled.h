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
	/* touches executed: the estimate, and the value in each draw */
	double touches, drawn[SAMPLED_DRAWS];
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
	double lines;	/* the largest size of a cache, in lines, of which something is known */
	uint64_t hits;
};

/* Makes the curves of all processes (0) or of one. -1 with err set, to ERR_EMPTY if the recording holds no reuse
 * times. */
int sampled_reuse_make(struct sampled_reuse *s, struct reading *r, unsigned process,
		       struct err *err);
/* The share of touches that a cache of `lines` lines misses. *low and *high become the bounds that contain 95 % of the
 * draws. */
double sampled_reuse_misses(const struct sampled_reuse *s, double lines, double *low, double *high);
void sampled_reuse_free(struct sampled_reuse *s);

#endif
