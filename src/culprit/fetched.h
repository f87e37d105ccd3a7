/* SPDX-License-Identifier: MIT */
/* The lines, or pages, of code that a program runs, and how often each is come to anew. */
#ifndef ASSAY_CULPRIT_FETCHED_H
#define ASSAY_CULPRIT_FETCHED_H

#include <stdint.h>

#include "culprit/crowd.h"

struct fetched_unit {
	uint32_t image;
	uint64_t unit;
	double uses, bursts; /* by estimated executions */
	double seen;	     /* bursts that windows saw */
};

struct fetched {
	struct fetched_unit *v; /* by image and unit, once it is ready */
	size_t n, cap;
};

/* -1 without memory. */
int fetched_add(struct fetched *f, const struct fetched_unit *unit);
/*
 * All are there, each once, and go to the crowd. What windows saw is scaled to what is estimated, over all: of each
 * the more counts, since an estimate that is too low would have it lost each time. -1 without memory.
 */
int fetched_ready(struct fetched *f, struct crowd *crowd);
void fetched_fini(struct fetched *f);
double fetched_bursts(const struct fetched *f, uint32_t image, uint64_t unit);

#endif
