/* SPDX-License-Identifier: MIT */
/*
 * Executions that an exact recording counted, for a sampled one of the same work: the one has no time, the other no
 * counts. Images are matched as `verify` does.
 */
#ifndef ASSAY_REPORT_COUNTS_H
#define ASSAY_REPORT_COUNTS_H

#include "report/reading.h"

struct counts {
	const struct reading *exact;
	uint32_t *map; /* by image of the sampled recording: the exact one's, or MATCH_NONE */
	double repeat; /* how often the sampled run did the exact one's work */
};

/* Of recordings that are open. -1 without memory. */
int counts_init(struct counts *c, const struct reading *sampled, const struct reading *exact,
		double repeat);
void counts_fini(struct counts *c);
/* Opens the exact recording at path, for as long as the process lives. NULL with err set: not one, or of other work. */
struct counts *counts_open(const struct reading *sampled, const char *path, double repeat,
			   struct err *err);

/* What the exact recording has of an instruction of the sampled one, or NULL. */
const struct site *counts_site(const struct counts *c, uint32_t image, uint64_t addr);
/* A struct estimate_source's count; ctx: struct counts. */
bool counts_at(void *ctx, uint32_t image, uint64_t addr, struct estimate_count *n);
/* Its missed; only of a recording that simulated misses. */
bool counts_misses(void *ctx, uint32_t image, uint64_t addr, double each[MISS_KIND_N]);
/* Part of the sampled recording's time that is at instructions which the exact run never executed. */
double counts_unexecuted(const struct counts *c, const struct reading *sampled);

#endif
