/* SPDX-License-Identifier: MIT */
#include "culprit/places.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"

#define LEAST_PART 1e-6 /* least share of an area's units that is used */

static int add(struct places *p, uint64_t unit, double uses, double bursts, double part)
{
	if (!array_reserve(p->v, p->cap, p->n + 1))
		return -1;
	p->v[p->n++] = (struct place){ unit, uses, bursts, part };
	return 0;
}

int places_add(struct places *p, const struct place_area *area, double uses, double bursts)
{
	double n = ((double)(area->to - area->from) + 1) * area->layouts;

	if (!(uses > 0))
		return 0;
	p->all_uses += uses;
	p->all_layouts += uses * area->layouts;
	if (!array_reserve(p->area, p->areas_cap, p->nareas + 1))
		return -1;
	p->area[p->nareas] = *area;
	p->area[p->nareas++].uses = uses / n;
	return add(p, area->from, uses / n, bursts / n, 0) ||
			       add(p, area->to + 1, -uses / n, -bursts / n, 0)
		       ? -1
		       : 0;
}

/* Orders areas with sketches first. */
static int by_from(const void *a, const void *b)
{
	const struct place_area *x = a, *y = b;

	if (!x->used != !y->used)
		return x->used ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Whether both have sketches, and most of each area lies in the other. */
static bool is_alike(const struct place_area *a, const struct place_area *b)
{
	double from = (double)(a->from > b->from ? a->from : b->from);
	double to = (double)(a->to < b->to ? a->to : b->to);
	double longer =
		(double)(a->to - a->from > b->to - b->from ? a->to - a->from : b->to - b->from);

	return a->used && b->used && to - from >= longer / 2;
}

/* Joins the k-th area with the following ones that are alike; returns the number of them. A sketch of several areas
 * bounds each, because it counts all of them together. */
static size_t join(const struct places *p, size_t k, struct place_area *to)
{
	struct distinct used = { { 0 } };
	double seen = 0, n = INFINITY, layouts = p->area[k].layouts * p->area[k].uses;
	size_t end = k + 1;

	*to = p->area[k];
	while (end < p->nareas && is_alike(&p->area[end], to)) {
		to->to = p->area[end].to > to->to ? p->area[end].to : to->to;
		layouts += p->area[end].layouts * p->area[end].uses;
		to->uses += p->area[end++].uses;
	}
	to->layouts = layouts / to->uses;
	for (size_t i = k; to->used && i < end; i++) {
		seen += p->area[i].seen;
		distinct_merge(&used, p->area[i].used);
	}
	if (to->used)
		n = fmax(1, distinct_drawn_from(&used, seen));
	to->part = fmin(1, n / to->layouts / ((double)(to->to - to->from) + 1));
	return end - k;
}

/* Joins areas that are alike, and adds their parts to places, each as often as it is used. -1 without memory. */
static int join_areas(struct places *p)
{
	size_t n = 0;

	if (p->nareas)
		qsort(p->area, p->nareas, sizeof(*p->area), by_from);
	for (size_t k = 0; k < p->nareas;) {
		struct place_area a;

		k += join(p, k, &a);
		p->area[n++] = a;
		if (add(p, a.from, 0, 0, a.uses * a.part) ||
		    add(p, a.to + 1, 0, 0, -a.uses * a.part))
			return -1;
	}
	p->nareas = n;
	return 0;
}

static int by_unit(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->unit > y->unit) - (x->unit < y->unit);
}

static double lines_of(const struct place_area *a)
{
	return ((double)(a->to - a->from) + 1) * a->part;
}

/*
 * Each site's region is that of one of several processes, so regions that all sites of a process share lie apart, in up to
 * as many copies as there are processes. One process uses no fewer units than the largest region has.
 */
static double copies_of(const struct places *p)
{
	double all = 0, largest = 1;

	for (size_t i = 0; i + 1 < p->n; i++)
		all += (double)(p->v[i + 1].unit - p->v[i].unit) * p->v[i].part *
		       (p->v[i].uses > 0);
	for (size_t i = 0; i < p->nareas; i++)
		if (p->area[i].used)
			largest = fmax(largest, lines_of(&p->area[i]));
	return fmax(1, fmin(p->all_uses > 0 ? p->all_layouts / p->all_uses : 1, all / largest));
}

int places_ready(struct places *p, struct crowd *crowd)
{
	double uses = 0, bursts = 0, part = 0, most = 0;
	size_t k = 0;

	if (join_areas(p))
		return -1;
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_unit);
	for (size_t i = 0; i < p->n; i++) {
		uses += p->v[i].uses;
		bursts += p->v[i].bursts;
		part += p->v[i].part;
		most = fmax(most, uses);
		if (i + 1 < p->n && p->v[i + 1].unit == p->v[i].unit)
			continue;
		/* Sums that should be 0, where no region lies, differ by rounding. */
		if (uses < most * 1e-12)
			uses = bursts = part = 0;
		p->v[k++] = (struct place){ p->v[i].unit, uses, fmax(0, bursts),
					    fmin(1, fmax(LEAST_PART, uses > 0 ? part / uses : 1)) };
	}
	p->n = k;
	p->copies = copies_of(p);
	for (size_t i = 0; i + 1 < k; i++) {
		double n = (double)(p->v[i + 1].unit - p->v[i].unit);

		if (crowd_add(crowd, p->v[i].uses * n, p->v[i].bursts * n,
			      n * p->v[i].part / p->copies))
			return -1;
	}
	return 0;
}

void places_fini(struct places *p)
{
	free(p->v);
	free(p->area);
	*p = (struct places){ 0 };
}

double places_bursts(const struct places *p, uint64_t unit)
{
	size_t low = search_first(i, 0, p->n, p->v[i].unit > unit);

	return low ? p->v[low - 1].bursts / p->v[low - 1].part * p->copies : 0;
}
