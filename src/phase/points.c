/* SPDX-License-Identifier: MIT */
#include "phase/points.h"

#include <stdlib.h>

#define SEED 0x5eed0f0b10c5ull

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t points_random(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

double points_random_unit(uint64_t seed, uint64_t n)
{
	return (double)(points_random(seed, n) >> 11) * 0x1p-53;
}

double points_distance2(const double *a, const double *b)
{
	double sum = 0;

	for (int d = 0; d < POINT_DIMENSIONS; d++)
		sum += (a[d] - b[d]) * (a[d] - b[d]);
	return sum;
}

static void project(struct point *to, const struct phase_interval *i, const double *row)
{
	struct phases_walk w = phases_walk(i);

	to->weight = (double)(i->end - i->start);
	while (phases_next(&w)) {
		double share = (double)w.part.instructions / to->weight;
		const double *r = row + (size_t)w.part.block * POINT_DIMENSIONS;

		for (int d = 0; d < POINT_DIMENSIONS; d++)
			to->x[d] += share * r[d];
	}
}

struct point *points_of(const struct phases *p)
{
	double *row = calloc(p->nblock + 1, POINT_DIMENSIONS * sizeof(*row));
	struct point *point = calloc(p->ninterval + 1, sizeof(*point));

	if (!row || !point) {
		free(row);
		free(point);
		return NULL;
	}
	for (size_t i = 0; i < p->nblock * POINT_DIMENSIONS; i++)
		row[i] = 2 * points_random_unit(SEED, i) - 1;
	for (size_t i = 0; i < p->ninterval; i++)
		project(&point[i], &p->interval[i], row);
	free(row);
	return point;
}
