/* SPDX-License-Identifier: MIT */
#include "culprit/crowd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

#define LEAST_PART 1e-15 /* part of a run in which no room can be filled */
#define HALVINGS 40
#define WAYS 16.0 /* lines of a set, in most caches of the second level on */
#define HOLDS 0.5 /* share of a room that holds any lines, whatever their addresses */

int crowd_add(struct crowd *c, double uses, double bursts, double n)
{
	if (!(uses > 0) || !(n > 0))
		return 0;
	if (isinf(n)) {
		c->endless += uses;
		c->endless_bursts += bursts;
		return 0;
	}
	if (!array_reserve(c->v, c->cap, c->n + 1))
		return -1;
	c->v[c->n++] = (struct crowd_part){ uses / n, bursts / n, n };
	return 0;
}

static int by_uses(const void *a, const void *b)
{
	const struct crowd_part *x = a, *y = b;

	return (x->uses < y->uses) - (x->uses > y->uses);
}

static unsigned grain_of(double bursts)
{
	double g = CROWD_GRAINS / 4.0 + 4 * log2(bursts);

	return (unsigned)fmin(CROWD_GRAINS - 1, fmax(0, g));
}

/* Replaces the sums at each element of v by those at the first of equal uses, because many uses are
 * equal. */
static void find_steps(struct crowd *c)
{
	size_t k = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (i && c->v[i].uses == c->v[i - 1].uses)
			continue;
		c->uses[k] = c->v[i].uses;
		c->count[k] = c->count[i];
		c->weight[k++] = c->weight[i];
	}
	c->count[k] = c->count[c->n];
	c->weight[k] = c->weight[c->n];
	c->nuses = k;
}

int crowd_ready(struct crowd *c)
{
	c->count = calloc(c->n + 1, sizeof(*c->count));
	c->weight = calloc(c->n + 1, sizeof(*c->weight));
	c->uses = calloc(c->n + 1, sizeof(*c->uses));
	if (!c->count || !c->weight || !c->uses)
		return -1;
	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_uses);
	for (size_t i = 0; i < c->n; i++)
		c->count[i + 1] = c->count[i] + c->v[i].n;
	for (size_t i = c->n; i-- > 0;)
		c->weight[i] = c->weight[i + 1] + c->v[i].n * c->v[i].uses;
	for (size_t i = 0; i < c->n; i++) {
		struct crowd_part *g = &c->grain[grain_of(c->v[i].bursts)];

		g->bursts += c->v[i].n * c->v[i].bursts;
		g->n += c->v[i].n;
	}
	find_steps(c);
	c->nfilled = c->nheld = 0;
	c->found_uses = 0;
	return 0;
}

void crowd_fini(struct crowd *c)
{
	free(c->v);
	free(c->count);
	free(c->weight);
	free(c->uses);
	memset(c, 0, sizeof(*c));
}

/* The first of the numbers of uses that is below that one, which is above 0. */
static size_t first_below(struct crowd *c, double uses)
{
	if (c->found_uses != uses) {
		c->found = search_first(i, 0, c->nuses, c->uses[i] < uses);
		c->found_uses = uses;
	}
	return c->found;
}

/* The first of the numbers of uses, most first, before which there are more lines than surely fit into the room. */
static size_t first_held(struct crowd *c, double room)
{
	size_t first;

	for (unsigned i = 0; i < c->nheld; i++)
		if (c->held[i].room == room)
			return c->held[i].first;
	first = search_first(i, 0, c->nuses + 1, c->count[i] > HOLDS * room);
	if (c->nheld < CROWD_ROOMS) {
		c->held[c->nheld].room = room;
		c->held[c->nheld++].first = first;
	}
	return first;
}

double crowd_between(struct crowd *c, double uses)
{
	size_t low;

	if (!(uses > 0))
		return INFINITY;
	low = first_below(c, uses);
	return c->n ? c->count[low] + (c->weight[low] + c->endless) / uses : c->endless / uses;
}

/* How often lines from the k-th number of uses on can fill the part of a room that the others
 * leave. */
static double filled_by(const struct crowd *c, size_t k, double uses, double room)
{
	if (c->count[k] > HOLDS * room)
		return 1;
	return (c->weight[k] + c->endless) / uses / (room - c->count[k]);
}

double crowd_evicts(struct crowd *c, double uses, double room)
{
	double all = crowd_between(c, uses) / room;
	size_t low, fit;

	if (!c->n || !(uses > 0))
		return fmin(1, all);
	low = first_below(c, uses);
	fit = first_held(c, room);
	if (fit > low)
		all = fmin(all,
			   fmin(filled_by(c, low, uses, room), filled_by(c, fit - 1, uses, room)));
	return fmin(1, all);
}

/* Number of different lines that are used in that part of the run. */
static double used_in(const struct crowd *c, double part)
{
	double sum = c->endless_bursts * part;

	for (unsigned i = 0; i < CROWD_GRAINS; i++)
		if (c->grain[i].n > 0)
			sum += c->grain[i].n * -expm1(-c->grain[i].bursts / c->grain[i].n * part);
	return sum;
}

/* The part of the run after which a room is full. */
static double lasts(struct crowd *c, double room)
{
	double low = LEAST_PART, high = 1;

	for (unsigned i = 0; i < c->nfilled; i++)
		if (c->filled[i].room == room)
			return c->filled[i].lasts;
	if (used_in(c, 1) <= room)
		low = INFINITY;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		double mid = sqrt(low * high);

		*(used_in(c, mid) > room ? &high : &low) = mid;
	}
	if (c->nfilled < CROWD_ROOMS) {
		c->filled[c->nfilled].room = room;
		c->filled[c->nfilled++].lasts = low;
	}
	return low;
}

double crowd_lost(struct crowd *c, double bursts, double room)
{
	if (!(bursts > 0))
		return 1;
	return fmin(1, fmax(1 / bursts, exp(-bursts * lasts(c, room))));
}

double crowd_passed(const struct crowd *c, double bursts, double own, double room)
{
	double between, others, evicted;

	if (!(bursts > 0))
		return 1;
	/* of the walk's own lines, random bursts would have left out one in e */
	between = used_in(c, 1 / bursts) + own * exp(-1);
	others = WAYS * between / room;
	/* The normal distribution in place of Poisson's; half a line is the correction for continuity. */
	evicted = 0.5 * erfc((WAYS - 0.5 - others) / sqrt(2 * others));
	return fmin(1, fmax(1 / bursts, evicted));
}
