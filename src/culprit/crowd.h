/* SPDX-License-Identifier: MIT */
/*
 * Competition for cache space: for lines (pages, targets) with known numbers of uses, the number of
 * different lines between two uses of one.
 *
 * Between two uses of a line that is used F times, a line that is used G times comes in at most G /
 * F of the cases, and counts once. The sum over all lines bounds the mean number in between. Where
 * there is room for r lines, at most sum / r of the uses can find their line evicted (Markov's
 * inequality).
 */
#ifndef ASSAY_CULPRIT_CROWD_H
#define ASSAY_CULPRIT_CROWD_H

#include <stddef.h>

struct crowd_part {
	double uses;   /* uses of each line */
	double bursts; /* the uses that do not closely follow another one */
	double n;
};

#define CROWD_ROOMS 4
#define CROWD_GRAINS 512

struct crowd {
	struct crowd_part *v; /* sorted by uses, most first, once it is ready */
	size_t n, cap;
	size_t nuses;
	/* the different numbers of uses in v, most first, once it is ready; for each of them,
	 * and after the last: */
	double *uses;
	double *count;	/* number of lines with more uses */
	double *weight; /* sum of n * uses over the lines from here on */
	double endless; /* uses of lines that may be new each time */
	double endless_bursts;
	/* for crowd_lost(): lines by bursts, in quarters of octaves; and how long rooms last */
	struct crowd_part grain[CROWD_GRAINS];
	struct {
		double room, lasts;
	} filled[CROWD_ROOMS];
	unsigned nfilled;
	/* Answers that are asked for again: most instructions of a block have equal uses, and rooms are few. */
	double found_uses; /* 0: none was looked for */
	size_t found;	   /* the first of `uses` below found_uses */
	struct {
		double room;
		size_t first; /* the first of `count` that is more than surely fits */
	} held[CROWD_ROOMS];
	unsigned nheld;
};

/* Adds n lines with `uses` uses in total, evenly distributed, `bursts` of which do not follow
 * soon after another use of the same line; n may be INFINITY, or a fraction. -1 without memory. */
int crowd_add(struct crowd *c, double uses, double bursts, double n);
/* Finishes adding. -1 without memory. */
int crowd_ready(struct crowd *c);
void crowd_fini(struct crowd *c);
/* The mean number of lines between two uses of a line with that many uses. */
double crowd_between(struct crowd *c, double uses);
/*
 * The largest share of the uses of a line with that many uses that can find it evicted from a room. Lines that are used
 * more often than some limit come in between at most once each. If these fit into half of the room, which a cache of
 * limited associativity holds, only the others can fill the rest, and Markov's inequality bounds how often they do.
 * Where no limit is better, it bounds how often all lines together fill the room.
 */
double crowd_evicts(struct crowd *c, double uses, double room);
/*
 * The probability that a line with that many bursts is evicted from a room between two uses, if
 * bursts come at random. Che's approximation: a line is evicted if it is not used for the time in
 * which as many lines are used as there is room for. Where all lines fit, only first uses miss.
 */
double crowd_lost(struct crowd *c, double bursts, double room);
/*
 * The same where a walk comes by all of `own` lines between two bursts of one, as along a list: they come at equal distances.
 * Addresses put lines at random into the sets of a room, and a line is evicted if as many others as a set has ways come
 * between (Smith, "A comparative study of set associative memory mapping algorithms", IEEE TSE 1978).
 */
double crowd_passed(const struct crowd *c, double bursts, double own, double room);

#endif
