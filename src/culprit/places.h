/* SPDX-License-Identifier: MIT */
/* Where a program's data lies: regions that sites use, overlaid, and how often a line of each is
 * used. */
#ifndef ASSAY_CULPRIT_PLACES_H
#define ASSAY_CULPRIT_PLACES_H

#include "culprit/crowd.h"

#include "sketch/distinct.h"

#include <stdint.h>

/* A stretch of units that sites use: all of its units, or the number that the sites' sketches tell. */
struct place_area {
	uint64_t from, to;
	const struct distinct *used; /* before places_ready(); NULL: not known */
	double seen;		     /* values that were added to the sketch */
	double layouts; /* the number of processes whose addresses they are: lines are those of one */
	double uses;	/* private: uses of each unit */
	double part;	/* after it: the share of the units that is used */
};

struct place {
	uint64_t unit;	     /* the first unit; the last one precedes the next place */
	double uses, bursts; /* uses of each unit */
	double part;	     /* the share of its units that is used: the mean over uses */
};

struct places {
	/* before places_ready(): beginnings of regions, and with negative uses their ends */
	struct place *v;
	size_t n, cap;
	/* the regions as they were added; afterwards joined where alike, in order */
	struct place_area *area;
	size_t nareas, areas_cap;
	double all_uses, all_layouts; /* private: uses that were added; each times its layouts */
	double copies; /* private, after it: how many copies of a process's units, in other processes, lie apart */
};

/* Adds uses of the units from..to, evenly distributed over those that are used. area: what is known of these, with
 * from and to set; its sketch must outlive places_ready(). -1 without memory. */
int places_add(struct places *p, const struct place_area *area, double uses, double bursts);
/* Finishes adding: makes the places consecutive and hands them to the crowd. -1 without memory. */
int places_ready(struct places *p, struct crowd *crowd);
void places_fini(struct places *p);
/* The bursts of a unit. */
double places_bursts(const struct places *p, uint64_t unit);

#endif
