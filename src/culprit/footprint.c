/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "culprit/facts.h"
#include "culprit/refills.h"

#define LISTED FOOTPRINT_REGIONS /* most addresses of a list that are used */
#define REGION_LEAST 4		 /* number of places from which a region can be told */
/* bytes: closer addresses come from one window, and count once */
#define NEAR 256
#define APART (1ULL << 24) /* least distance in bytes between two regions */
#define STACK_LINES 8	   /* lines of the stack among which a place in a frame moves */

struct spot {
	uint64_t unit;
	double share;
};

/* Shares of accesses that miss each level. */
struct misses_of {
	double most[MACHINE_LEVELS], likely[MACHINE_LEVELS];
};

/* Whether that level is shared with the rest of the machine. */
static bool is_shared(int level)
{
	return level == MACHINE_LEVELS - 1;
}

/* The likely part of fresh uses that find their line lost from a level, if it is used in that many bursts. */
static double lost(struct crowd *crowd, double bursts, double refills, int i,
		   const struct machine_level level[MACHINE_LEVELS])
{
	double own = crowd_lost(crowd, bursts, level[i].room);

	return is_shared(i) ? fmax(own, refills_lost(bursts, refills, false)) : own;
}

/* Adds a share of an instruction's accesses, to lines with that many uses each; a part of the uses
 * is fresh. */
static void count(struct misses_of *m, const struct footprint *f, double share, double uses,
		  double fresh, const struct machine_level level[MACHINE_LEVELS])
{
	for (int i = 0; share > 0 && i < MACHINE_LEVELS; i++) {
		m->most[i] += share * crowd_evicts(f->crowd, uses, level[i].room);
		if (fresh > 0)
			m->likely[i] +=
				share * fresh * lost(f->crowd, uses * fresh, f->refills, i, level);
	}
}

static struct odds cost(const struct misses_of *m, struct odds fresh, struct hiding hiding,
			const struct machine_level level[MACHINE_LEVELS])
{
	struct odds sum = { 0, 0 };

	for (int i = 0; i < MACHINE_LEVELS; i++) {
		sum.most += fmin(fresh.most, m->most[i]) * level[i].penalty;
		sum.likely += fmin(fresh.most, m->likely[i]) * hiding_cost(hiding, &level[i]);
	}
	return sum;
}

struct odds footprint_single(double uses, double bursts, struct odds fresh, struct crowd *crowd,
			     const struct machine_level level[MACHINE_LEVELS])
{
	const struct footprint f = { .crowd = crowd };
	struct misses_of m = { { 0 }, { 0 } };

	count(&m, &f, 1, uses, 0, level);
	for (int i = 0; i < MACHINE_LEVELS; i++)
		m.likely[i] = fresh.likely * crowd_lost(crowd, bursts, level[i].room);
	return cost(&m, fresh, HIDES_NOTHING, level);
}

static int by_unit(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Reads the list's places, sorted by address, with their least shares. Returns how many. */
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

unsigned footprint_regions(const struct hot *h, uint64_t processes,
			   struct region region[FOOTPRINT_REGIONS])
{
	struct hot_value v[LISTED];
	uint64_t at[LISTED];
	unsigned n = hot_top(h, v, LISTED), all = 0, k = 0, widest = 0;

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
		region[k] = (struct region){ at[i], bytes, end - i };
		if (bytes > region[widest].bytes)
			widest = k;
		k++;
	}
	if (all < REGION_LEAST && !hot_exact(h))
		return 0;
	if (processes > 1)
		region[0] = region[widest];
	return processes > 1 ? k > 0 : k;
}

double footprint_region(const struct hot *h, uint64_t processes)
{
	struct region region[FOOTPRINT_REGIONS];
	unsigned n = footprint_regions(h, processes, region);
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += region[i].bytes;
	return n ? sum : INFINITY;
}

/* The likely misses of a fresh line of a stream of unknown extent: a list of addresses that hardly
 * recur holds those of the last window alone. */
static const double unknown_lost[MACHINE_LEVELS] = { 1, 0.5, 0.25 };

/* The part of fresh uses of a place that find it evicted, if it has that many of them. A walk that takes as many steps as
 * there are lines, or half as many, comes to a line again only after the others. */
static double likely_lost(const struct footprint *f, double bursts, int i,
			  const struct machine_level level[MACHINE_LEVELS])
{
	double own = f->uses / f->layouts * f->fresh.likely / bursts, passed;

	if (f->walk * f->fresh.likely * 2 < own || f->walk <= 0)
		return lost(f->crowd, bursts, f->refills, i, level);
	passed = crowd_passed(f->crowd, bursts, own, level[i].room);
	return is_shared(i) ? fmax(passed, refills_lost(bursts, f->refills, true)) : passed;
}

/* Adds the likely misses of listed places, which stand for the others: rarely used places are the
 * first to be fresh. If no region shows, and the accesses are no stream, the listed places are all
 * there are. */
static void expect_listed(struct misses_of *m, const struct footprint *f, const struct spot *spot,
			  unsigned k, double rest, double units,
			  const struct machine_level level[MACHINE_LEVELS])
{
	double of_rest = rest > 0 ? fmin(1, f->fresh.likely / rest) : 0;
	double of_listed = rest < 1 ? fmin(1, fmax(0, f->fresh.likely - rest) / (1 - rest)) : 0;

	for (unsigned i = 0; i < k; i++) {
		double there = f->places ? places_bursts(f->places, spot[i].unit) : 0;
		double own = f->uses * spot[i].share * of_listed;
		bool known = there > 0 || !f->hiding.stream;
		double others = there > 0 ? there : f->uses * of_rest / k;

		/* the instruction alone uses each of its units that often */
		others = fmax(others, f->uses / f->layouts * rest * of_rest / units);

		for (int l = 0; l < MACHINE_LEVELS; l++) {
			double misses = known ? likely_lost(f, others, l, level) : unknown_lost[l];

			m->likely[l] += spot[i].share * of_listed *
					likely_lost(f, fmax(own, there), l, level);
			m->likely[l] += rest / k * of_rest * misses;
		}
	}
}

#define DISTURBED 2 /* cache levels from which the sampler's own work may evict lines */
/* lines that the sampler brings in at a time: it works some 10 us, 41 ns for each of 256 instructions (assay info), and
 * a line from the last level takes 10 ns */
#define DISTURBS 1024

/* Adds the misses of lines that the sampler evicted while it observed a window. */
static void count_disturbed(struct misses_of *m, const struct footprint *f, double units,
			    const struct machine_level level[MACHINE_LEVELS])
{
	for (int i = 0; f->unit == MACHINE_LINE && f->uses > 0 && i < DISTURBED; i++)
		m->most[i] = fmin(
			1, m->most[i] + f->samples * fmin(DISTURBS, fmin(units, level[i].room)) /
						f->uses);
}

/* Adds the accesses to listed places, and to the region that they show. Returns the region's units. */
static double count_listed(struct misses_of *m, const struct footprint *f,
			   const struct machine_level level[MACHINE_LEVELS])
{
	double n = (double)hot_total(f->hot), listed = 0, rest, units, all;
	struct misses_of region = { { 0 }, { 0 } };
	struct spot spot[LISTED];
	unsigned k = read_spots(f, spot);

	for (unsigned i = 0; i < k; i++) {
		listed += spot[i].share;
		count(m, f, spot[i].share, f->uses * spot[i].share, 0, level);
	}
	rest = fmax(0, 1 - listed);
	units = ceil(footprint_region(f->hot, f->processes) / (double)(1ULL << f->unit));
	units = fmin(units, fmax(1, f->distinct / f->layouts));
	count(&region, f, 1, f->uses / f->layouts / units, 0, level);
	all = crowd_between(f->crowd, 0);
	for (int i = 0; i < MACHINE_LEVELS; i++) {
		m->most[i] += rest * region.most[i];
		/* Rule of three: a case that n observations did not show may have a share of 3 / n,
		 * anywhere. */
		m->most[i] = fmin(m->most[i], region.most[i]) +
			     3 / (n + 3) * fmin(1, all / level[i].room);
	}
	expect_listed(m, f, spot, k, rest, units, level);
	return units;
}

struct odds footprint_cost(const struct footprint *f,
			   const struct machine_level level[MACHINE_LEVELS])
{
	struct misses_of m = { { 0 }, { 0 } };
	double units = 1, uses = f->uses / f->layouts; /* of one process */

	if (f->fixed) {
		count(&m, f, 1, uses, f->fresh.likely, level);
	} else if (f->stack) {
		units = ceil((double)(STACK_LINES << MACHINE_LINE) / (double)(1ULL << f->unit));
		count(&m, f, 1, uses / units, f->fresh.likely, level);
	} else if (!f->hot || !hot_total(f->hot)) {
		count(&m, f, 1, 0, f->fresh.likely, level);
	} else {
		units = count_listed(&m, f, level);
	}
	/* the rest of the machine shares the last level, and nothing shows how much of it is left */
	if (f->unit == MACHINE_LINE)
		m.most[MACHINE_LEVELS - 1] =
			fmax(m.most[MACHINE_LEVELS - 1], m.most[MACHINE_LEVELS - 2]);
	count_disturbed(&m, f, units,
			level); /* lines that the sampler evicts are in the last level */
	return cost(&m, f->fresh, f->hiding, level);
}
