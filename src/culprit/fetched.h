/* SPDX-License-Identifier: MIT */
/* The lines, or pages, of code that a program runs, and how often control newly enters each. */
#ifndef ASSAY_CULPRIT_FETCHED_H
#define ASSAY_CULPRIT_FETCHED_H

#include <stdint.h>

#include "culprit/crowd.h"

struct fetched_unit {
	uint32_t image;
	uint64_t unit;
	double uses, bursts; /* by estimated executions */
	double seen;	     /* bursts in windows */
};

struct fetched {
	struct fetched_unit *v; /* sorted by image and unit, once it is ready */
	size_t n, cap;
};

/* Returns -1 without memory. */
int fetched_add(struct fetched *f, const struct fetched_unit *unit);
/*
 * Finishes adding, and hands each unit to the crowd once. Bursts that windows saw are scaled to the
 * estimated total; each unit gets the larger of both numbers, because with a low estimate it would
 * count as evicted each time. -1 without memory.
 */
int fetched_ready(struct fetched *f, struct crowd *crowd);
void fetched_fini(struct fetched *f);
double fetched_bursts(const struct fetched *f, uint32_t image, uint64_t unit);

#endif
