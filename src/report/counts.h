/* SPDX-License-Identifier: MIT */
/*
 * Executions that an exact recording counted, for a sampled recording of the same work, which has
 * time but no counts. Images are matched as in `verify`.
 */
#ifndef ASSAY_REPORT_COUNTS_H
#define ASSAY_REPORT_COUNTS_H

#include "report/reading.h"

struct counts {
	const struct reading *exact;
	/* by image of the sampled recording: the exact recording's image, or MATCH_NONE */
	uint32_t *map;
	double repeat; /* how often the sampled run repeated the exact run's work */
};

/* Matches two open recordings. -1 without memory. */
int counts_init(struct counts *c, const struct reading *sampled, const struct reading *exact,
		double repeat);
void counts_fini(struct counts *c);
/* Opens the exact recording at path, for the life of the process. NULL with err set: it is not
 * exact, or of other work. */
struct counts *counts_open(const struct reading *sampled, const char *path, double repeat,
			   struct err *err);

/* Returns the exact recording's site for an instruction of the sampled one, or NULL. */
const struct site *counts_site(const struct counts *c, uint32_t image, uint64_t addr);
/* The function `count` of a struct estimate_source; ctx: struct counts. */
bool counts_at(void *ctx, uint32_t image, uint64_t addr, struct estimate_count *n);
/* The function `missed` of a struct estimate_source, for recordings with simulated misses. */
bool counts_misses(void *ctx, uint32_t image, uint64_t addr, double each[MISS_KIND_N]);
/* The share of the sampled recording's time at instructions that the exact run never executed. */
double counts_unexecuted(const struct counts *c, const struct reading *sampled);

#endif
