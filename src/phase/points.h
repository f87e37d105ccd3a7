/* SPDX-License-Identifier: MIT */
/*
 * Intervals as points: each interval's vector of blocks, in shares of the interval, is projected at
 * random to a few dimensions.
 *
 * Coordinate d of an interval is the sum over its blocks of share * r(block, d), with r uniform in
 * [-1, 1] and the same in each run. Distances keep their order well enough for clusters to be
 * found: Sherwood, Perelman, Hamerly, Calder, "Automatically characterizing large scale program
 * behavior", ASPLOS 2002, section 4.
 */
#ifndef ASSAY_PHASE_POINTS_H
#define ASSAY_PHASE_POINTS_H

#include "observe/phases.h"

#define POINT_DIMENSIONS 15

struct point {
	double x[POINT_DIMENSIONS];
	double weight; /* instructions of the interval */
};

/* Returns one point for each interval, to be freed. NULL without memory. */
struct point *points_of(const struct phases *p);
double points_distance2(const double *a, const double *b);
/* A pseudo-random number, the same for the same arguments. */
uint64_t points_random(uint64_t seed, uint64_t n);
/* A pseudo-random number in [0, 1), the same for the same arguments. */
double points_random_unit(uint64_t seed, uint64_t n);

#endif
