/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "culprit/facts.h"

#define LISTED 64	   /* addresses of a list that are looked at */
#define REGION_LEAST 4	   /* that show a region */
#define APART (1ULL << 24) /* bytes between two regions */
#define STACK_LINES 64	   /* of the stack that a procedure and those it calls are busy with */

struct spot {
	uint64_t unit;
	double share;
};

static double cost(double share, double interval, double per,
		   const struct machine_level level[MACHINE_LEVELS])
{
	double sum = 0;

	for (int i = 0; i < MACHINE_LEVELS; i++)
		sum += fmin(share, interval / (level[i].room * per)) * level[i].penalty;
	return sum;
}

double footprint_single(double interval, double per,
			const struct machine_level level[MACHINE_LEVELS])
{
	return cost(1, interval, per, level);
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

/*
 * Units of the region that n places lie in: of evenly spread ones a part of 2 / (n + 1) lies outside those seen, on
 * average. A region of each process has the same use; else regions add up.
 */
static double region(const struct footprint *f, const struct spot *spot, unsigned n)
{
	double sum = 0, most = 0;

	if (n < REGION_LEAST)
		return INFINITY;
	for (unsigned i = 0, end; i < n; i = end) {
		double units;

		for (end = i + 1;
		     end < n && (spot[end].unit - spot[end - 1].unit) << f->unit < APART; end++)
			;
		units = (double)(spot[end - 1].unit - spot[i].unit) + 1;
		if (end - i > 1)
			units *= (double)(end - i + 1) / (double)(end - i - 1);
		sum += units;
		most = fmax(most, units);
	}
	return f->processes > 1 ? most : sum;
}

double footprint_bound(const struct footprint *f, const struct machine_level level[MACHINE_LEVELS])
{
	double listed = 0, rest, units, bound = 0, n = f->hot ? (double)hot_total(f->hot) : 0;
	struct spot spot[LISTED];
	unsigned k;

	if (f->fixed)
		return cost(1, f->interval, f->per, level);
	if (f->stack) {
		units = ceil((double)(STACK_LINES << MACHINE_LINE) / (double)(1ULL << f->unit));
		return cost(1, f->interval * units, f->per, level);
	}
	if (n <= 0)
		return cost(1, INFINITY, f->per, level);
	k = read_spots(f, spot);
	for (unsigned i = 0; i < k; i++) {
		listed += spot[i].share;
		bound += cost(spot[i].share, f->interval, f->per, level);
	}
	/* what n observations did not show can be 3 of so many */
	rest = fmin(1, fmax(1 - listed, 3 / (n + 3)));
	units = region(f, spot, k);
	bound += rest * cost(1, f->interval * units, f->per, level);
	return fmin(bound, cost(1, f->interval * units, f->per, level) +
				   3 / (n + 3) * cost(1, INFINITY, f->per, level));
}
