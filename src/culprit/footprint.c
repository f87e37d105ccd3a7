/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "culprit/facts.h"

#define LISTED 64	   /* addresses of a list that are looked at */
#define REGION_LEAST 4	   /* places that show a region */
#define NEAR 256	   /* bytes: closer ones are of one window, and count as one */
#define APART (1ULL << 24) /* bytes between two regions */
#define STACK_LINES 8	   /* of the stack, that one place in a frame is in, time after time */

struct spot {
	uint64_t unit;
	double share;
};

/* Of a share of an instruction's accesses that go to lines used so often each. */
static double cost(double share, double uses, const struct crowd *crowd,
		   const struct machine_level level[MACHINE_LEVELS])
{
	double between = crowd_between(crowd, uses), sum = 0;

	for (int i = 0; i < MACHINE_LEVELS; i++)
		sum += share * fmin(1, between / level[i].room) * level[i].penalty;
	return sum;
}

double footprint_single(double uses, const struct crowd *crowd,
			const struct machine_level level[MACHINE_LEVELS])
{
	return cost(1, uses, crowd, level);
}

static int by_unit(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* The list's places, by address; their shares at least. Returns how many. */
static unsigned read_spots(const struct footprint *f, struct spot *spot)
{
	struct hot_value v[LISTED];
	unsigned n = hot_top(f->hot, v, LISTED), k = 0;
	double whole = hot_weight(f->hot);

	for (unsigned i = 0; i < n; i++)
		spot[i] = (struct spot){ v[i].value >> f->unit, v[i].weight_low / whole };
	qsort(spot, n, sizeof(*spot), by_unit);
	for (unsigned i = 0; i < n; i++) {
		if (k && spot[k - 1].unit == spot[i].unit)
			spot[k - 1].share += spot[i].share;
		else
			spot[k++] = spot[i];
	}
	return k;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Bytes of the region that addresses lie in: of n evenly spread ones a part of 2 / (n + 1) lies outside those seen,
 * on average. A region of each process has the same use; else regions add up.
 */
double footprint_region(const struct hot *h, uint64_t processes)
{
	struct hot_value v[LISTED];
	uint64_t at[LISTED];
	unsigned n = hot_top(h, v, LISTED), all = 0;
	double sum = 0, most = 0;

	for (unsigned i = 0; i < n; i++)
		at[i] = v[i].value;
	qsort(at, n, sizeof(*at), by_value);
	for (unsigned i = 0, end; i < n; i = end) {
		unsigned places = 1;
		double bytes;

		for (end = i + 1; end < n && at[end] - at[end - 1] < APART; end++)
			places += at[end] - at[end - 1] >= NEAR;
		bytes = (double)(at[end - 1] - at[i]) + NEAR;
		if (places > 1)
			bytes *= (double)(places + 1) / (double)(places - 1);
		all += places;
		sum += bytes;
		most = fmax(most, bytes);
	}
	if (all < REGION_LEAST && !hot_exact(h))
		return INFINITY;
	return processes > 1 ? most : sum;
}

double footprint_bound(const struct footprint *f, const struct machine_level level[MACHINE_LEVELS])
{
	double listed = 0, rest, units, bound = 0, n = f->hot ? (double)hot_total(f->hot) : 0;
	struct spot spot[LISTED];
	unsigned k;

	if (f->fixed)
		return cost(1, f->uses, f->crowd, level);
	if (f->stack) {
		units = ceil((double)(STACK_LINES << MACHINE_LINE) / (double)(1ULL << f->unit));
		return cost(1, f->uses / units, f->crowd, level);
	}
	if (n <= 0)
		return cost(1, 0, f->crowd, level);
	k = read_spots(f, spot);
	for (unsigned i = 0; i < k; i++) {
		listed += spot[i].share;
		bound += cost(spot[i].share, f->uses * spot[i].share, f->crowd, level);
	}
	rest = fmax(0, 1 - listed);
	units = ceil(footprint_region(f->hot, f->processes) / (double)(1ULL << f->unit));
	bound += rest * cost(1, f->uses / units, f->crowd, level);
	/* what n observations did not show can be 3 of so many, anywhere */
	return fmin(bound, cost(1, f->uses / units, f->crowd, level)) +
	       3 / (n + 3) * cost(1, 0, f->crowd, level);
}
