/* SPDX-License-Identifier: MIT */
/* Where a program's data lies: regions that sites use, laid over each other, and how often a line of each is used. */
#ifndef ASSAY_CULPRIT_PLACES_H
#define ASSAY_CULPRIT_PLACES_H

#include "culprit/crowd.h"

#include <stdint.h>

struct place {
	uint64_t unit;	     /* the first one; the last one is before the next place's */
	double uses, bursts; /* of each unit */
};

struct places {
	struct place *v; /* until they are ready: what begins there, or, negative, ends */
	size_t n, cap;
};

/* Units from..to are used so many times, evenly. -1 without memory. */
int places_add(struct places *p, uint64_t from, uint64_t to, double uses, double bursts);
/* All are there: they lie one behind the other, and go to the crowd. -1 without memory. */
int places_ready(struct places *p, struct crowd *crowd);
void places_fini(struct places *p);
/* Bursts of a unit. */
double places_bursts(const struct places *p, uint64_t unit);

#endif
