/* SPDX-License-Identifier: MIT */
/*
 * What else is touched: of lines (pages, targets) that are each used so and so often, how many different ones
 * come between two uses of one.
 *
 * A line that is used F times meets, between two of them, one that is used G times in at most G / F of the cases,
 * and once. The sum over all lines is the most that can have come between, on average; where there is room for r
 * of them, at most sum / r of the uses can find theirs gone (Markov's inequality).
 */
#ifndef ASSAY_CULPRIT_CROWD_H
#define ASSAY_CULPRIT_CROWD_H

#include <stddef.h>

struct crowd_part {
	double uses;   /* of each of them */
	double bursts; /* of those, not soon after another one */
	double n;
};

#define CROWD_ROOMS 4
#define CROWD_GRAINS 512

struct crowd {
	struct crowd_part *v; /* most uses first, once it is ready */
	size_t n, cap;
	size_t nuses;
	double *uses; /* the different ones of v, most first, once it is ready; and to each, and behind the last: */
	double *count;	/* of those with more */
	double *weight; /* of those from here on, the sum of n * uses */
	double endless; /* uses of what may be a new one each time */
	double endless_bursts;
	/* for crowd_lost: lines by bursts, in quarters of octaves; how long rooms last */
	struct crowd_part grain[CROWD_GRAINS];
	struct {
		double room, lasts;
	} filled[CROWD_ROOMS];
	unsigned nfilled;
};

/* n lines that are used `uses` times in sum, evenly, `bursts` of that not soon after another use of the same; n may be
 * INFINITY, or a part of one. -1 without memory. */
int crowd_add(struct crowd *c, double uses, double bursts, double n);
/* All are there. -1 without memory. */
int crowd_ready(struct crowd *c);
void crowd_fini(struct crowd *c);
/* How many come between two uses of a line that is used so often. */
double crowd_between(const struct crowd *c, double uses);
/*
 * How likely a line that is used so often is lost from a room of so many, between two uses, if bursts come at random
 * (Che's approximation: of the time in which as many lines are used as there is room for, the part of runs, a
 * line that is not used within it is lost). Where all fit, those that are used for the first time.
 */
double crowd_lost(struct crowd *c, double bursts, double room);

#endif
