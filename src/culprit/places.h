/* SPDX-License-Identifier: MIT */
/* Where a program's data lies: regions that sites use, overlaid, and how often a line of each is
 * used. */
#ifndef ASSAY_CULPRIT_PLACES_H
#define ASSAY_CULPRIT_PLACES_H

#include "culprit/crowd.h"

#include <stdint.h>

struct place {
	uint64_t unit;	     /* the first unit; the last one precedes the next place */
	double uses, bursts; /* uses of each unit */
};

struct places {
	/* before places_ready(): beginnings of regions, and with negative uses their ends */
	struct place *v;
	size_t n, cap;
};

/* Adds uses of the units from..to, evenly distributed. -1 without memory. */
int places_add(struct places *p, uint64_t from, uint64_t to, double uses, double bursts);
/* Finishes adding: makes the places consecutive and hands them to the crowd. -1 without memory. */
int places_ready(struct places *p, struct crowd *crowd);
void places_fini(struct places *p);
/* The bursts of a unit. */
double places_bursts(const struct places *p, uint64_t unit);

#endif
