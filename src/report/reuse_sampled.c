/* SPDX-License-Identifier: MIT */
#include "report/reuse_sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "observe/curve.h"

#define BEND_OCTAVES 2.0 /* octaves between near and far times */
/*
 * What estimates are off beside chance, standard deviations: of all miss ratios and of what is far, natural logarithms
 * of the odds; of sizes, octaves. As small as exact curves of other programs than the one at hand ask for
 * (docs/results.md).
 */
#define ODDS 0.35
#define FAR_ODDS 1.0
#define SIZE_OCTAVES 0.3
#define ENOUGH 100	  /* watchpoints that a process needs for curves of its own */
#define SPEED_OCTAVES 2.0 /* touches a ns: parts that differ by more have separate curves */
#define OFF_MOST 1e3	  /* largest factor between drawn and estimated executions */
#define SCALE_LEAST 1e-9

/* Drawing random observations. */

/* Draws from the standard normal distribution. */
static double draw_normal(uint64_t *random)
{
	double u = fmax(random_part(random), 1e-300), v = random_part(random);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Draws from a Poisson distribution; normal for large means. */
static double draw_poisson(double mean, uint64_t *random)
{
	double limit = exp(-mean), p = 1;
	unsigned n = 0;

	if (mean > 30)
		return fmax(0, mean + sqrt(mean) * draw_normal(random));
	while ((p *= random_part(random)) > limit)
		n++;
	return n;
}

/* Draws counts anew, as numbers of observations of `unit` each. */
static void draw_counts(uint64_t *count, unsigned n, double unit, uint64_t *random)
{
	for (unsigned i = 0; i < n; i++)
		if (count[i])
			count[i] = (uint64_t)(draw_poisson((double)count[i] / unit, random) * unit);
}

static bool none(const uint64_t *count, unsigned n)
{
	while (n && !count[n - 1])
		n--;
	return !n;
}

/*
 * Adds one unseen observation to each draw, because something that none of n watched lines did may
 * have a share of about one in n. It outlives all others, and is half soon, half later, with random
 * weights of mean 1 and 1/2 (a Bayesian bootstrap; if nothing was seen in n, it leaves 3.7 / n with
 * 97.5 %).
 */
static void add_unseen(struct reuses *u, uint64_t soon[2], double unit, uint64_t *random)
{
	unsigned last = DISTANCE_BUCKETS - 1;

	while (last && !u->far_ended[last - 1] && !u->far_left[last - 1])
		last--;
	u->far_left[last] += (uint64_t)(unit * -log(1 - random_part(random)));
	for (unsigned i = 0; i < 2; i++) {
		double z = draw_normal(random);

		soon[i] += (uint64_t)(unit * z * z / 2);
	}
}

/* Returns the weight of one observation such that equal observations with the sum `sum` would vary
 * as much as the `n` real ones do. */
static double observation(uint64_t sum, uint64_t square, uint64_t n)
{
	if (square && sum)
		return (double)square / (double)sum * REUSES_UNIT;
	return n ? 2.0 * (double)sum / (double)n : REUSES_UNIT;
}

/* Draws all counts anew. `off`: factor on the odds of far times. */
static void draw_anew(struct reuses *u, uint64_t watched, double off, uint64_t *random)
{
	/* touches of one window are drawn together */
	double near = observation(u->touches, u->touches_square, u->windows);
	double far = observation(u->watches, u->watches_square, watched);
	uint64_t soon[2] = { u->soon, u->watches - u->soon };
	const struct reuses seen = *u;

	draw_counts(u->near_ended, REUSES_NEAR, near, random);
	draw_counts(u->near_left, REUSES_NEAR, near, random);
	if (none(u->near_ended, REUSES_NEAR) && none(u->near_left, REUSES_NEAR)) {
		/* with few windows a draw may be empty, and an empty draw has no curve */
		memcpy(u->near_ended, seen.near_ended, sizeof(u->near_ended));
		memcpy(u->near_left, seen.near_left, sizeof(u->near_left));
	}
	draw_counts(u->far_ended, DISTANCE_BUCKETS, far, random);
	draw_counts(u->far_left, DISTANCE_BUCKETS, far, random);
	draw_counts(soon, 2, far, random);
	add_unseen(u, soon, far, random);
	soon[1] = (uint64_t)((double)soon[1] * off);
	u->soon = soon[0];
	u->watches = soon[0] + soon[1];
}

/* Groups of parts. */

/* The systematic errors of a draw, which are common to all processes and so the same in each
 * group. */
struct off {
	/* factors on the bend, far times, odds, and between groups */
	double bend, far, odds, across;
	double tail; /* the power of size with which misses fall beyond the known range */
};

static struct off draw_off(uint64_t *random)
{
	return (struct off){
		.bend = exp2(BEND_OCTAVES * (2 * random_part(random) - 1)),
		.far = exp(FAR_ODDS * draw_normal(random)),
		.odds = exp(ODDS * draw_normal(random)),
		.across = exp2(SIZE_OCTAVES * draw_normal(random)),
		.tail = tan(M_PI_2 * random_part(random)),
	};
}

/* Parts combined in one curve, each with its share of the touches. */
struct mix {
	struct reuses sum;
	double touches, time;
};

/* The factor from estimated to drawn executions. error: standard deviations by which to draw; 0: as estimated. */
static double drawn(const struct reuse_part *p, double error, uint64_t *random)
{
	return error > 0 ? fmin(exp(error * p->error * draw_normal(random)), OFF_MOST) : 1;
}

static double scale_of(const struct reuse_part *p)
{
	return p->touches / (double)p->sum.touches;
}

/* The largest scale of a part in a draw, by a copy of the generator's state. */
static double largest(const struct sampled_group *g, double error, uint64_t random)
{
	double most = 0;

	for (size_t i = 0; i < g->n; i++)
		most = fmax(most, scale_of(g->part[i]) * drawn(g->part[i], error, &random));
	return most;
}

/* Scales are relative to the largest one of the draw, so that its counts are not rounded to nothing. */
static void mix(struct mix *to, const struct sampled_group *g, double error, uint64_t *random)
{
	double most = largest(g, error, *random);

	memset(to, 0, sizeof(*to));
	for (size_t i = 0; i < g->n; i++) {
		const struct reuse_part *p = g->part[i];
		double off = drawn(p, error, random);

		curve_add(&to->sum, &p->sum, fmax(scale_of(p) * off / most, SCALE_LEAST));
		to->touches += p->touches * off;
		to->time += p->time;
	}
}

static int make_group(struct sampled_group *g, unsigned number)
{
	/* The fixed start value makes every reading draw the same numbers. */
	uint64_t chance = 0x9e3779b97f4a7c15ull * (2 * number + 1), all = 0xd1342543de82ef95ull;
	struct mix m;

	mix(&m, g, 0, &chance);
	g->touches = m.touches;
	if (curve_of(&g->best, &m.sum, m.touches / m.time, 1))
		return -1;
	for (unsigned i = 0; i < SAMPLED_DRAWS; i++) {
		const struct off off = draw_off(&all);

		mix(&m, g, 1, &chance);
		draw_anew(&m.sum, m.sum.watched, off.far, &chance);
		g->drawn[i] = m.touches;
		g->odds[i] = off.odds;
		g->across[i] = off.across;
		g->tail[i] = off.tail;
		if (curve_of(&g->draw[i], &m.sum, m.touches / m.time, off.bend))
			return -1;
	}
	return 0;
}

/* The group of a part: a process with enough watchpoints, or the other processes' parts of
 * similar speed. */
struct member {
	const struct reuse_part *part;
	uint64_t process; /* or 0: not watched enough */
	int speed;
	double touches; /* touches of all parts with the same process and speed */
};

static double speed_of(const struct reuse_part *p)
{
	return p->touches / p->time;
}

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->speed != y->speed)
		return x->speed < y->speed ? -1 : 1;
	return (x->part->number > y->part->number) - (x->part->number < y->part->number);
}

static int by_touches(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->touches < y->touches || x->touches > y->touches)
		return x->touches > y->touches ? -1 : 1;
	return by_group(a, b);
}

/* Sets the process that parts [from, to) belong to; 0 if that process was not watched enough. */
static void tell_process(struct member *list, const struct reuse_parts *parts, size_t from,
			 size_t to)
{
	uint64_t watched = 0;

	for (size_t i = from; i < to; i++)
		watched += parts->part[i]->sum.watched;
	for (size_t i = from; i < to; i++)
		list[i] = (struct member){ .part = parts->part[i],
					   .process = watched < ENOUGH ? 0 : from + 1 };
}

static void tell_processes(struct member *list, const struct reuse_parts *parts)
{
	for (size_t i = 0, k = 0; i < parts->n; i = k) {
		while (k < parts->n && parts->part[k]->process == parts->part[i]->process)
			k++;
		tell_process(list, parts, i, k);
	}
}

/* Sets the speed of each part of a process, relative to the part with most touches. */
static void tell_speeds(struct member *list, size_t n)
{
	for (size_t i = 0, k; i < n; i = k) {
		const struct reuse_part *most = list[i].part;

		for (k = i; k < n && list[k].process == list[i].process; k++)
			if (list[k].part->touches > most->touches)
				most = list[k].part;
		for (size_t j = i; j < k; j++)
			list[j].speed = (int)lround(log2(speed_of(list[j].part) / speed_of(most)) /
						    SPEED_OCTAVES);
	}
}

static bool alike(const struct member *a, const struct member *b)
{
	return a->process == b->process && a->speed == b->speed;
}

static void tell_touches(struct member *list, size_t n)
{
	for (size_t i = 0, k; i < n; i = k) {
		double sum = 0;

		for (k = i; k < n && alike(&list[k], &list[i]); k++)
			sum += list[k].part->touches;
		for (size_t j = i; j < k; j++)
			list[j].touches = sum;
	}
}

/* Sorts parts into groups, most touches first; groups beyond SAMPLED_GROUPS join the last one. */
static int make_groups(struct sampled_reuse *s)
{
	size_t n = s->parts.n;
	struct member *list = calloc(n + 1, sizeof(*list));
	int rc = 0;

	s->part = calloc(n + 1, sizeof(struct reuse_part *));
	if (!list || !s->part) {
		free(list);
		return -1;
	}
	tell_processes(list, &s->parts);
	if (n)
		qsort(list, n, sizeof(*list), by_group);
	tell_speeds(list, n);
	if (n)
		qsort(list, n, sizeof(*list), by_group);
	tell_touches(list, n);
	if (n)
		qsort(list, n, sizeof(*list), by_touches);
	for (size_t i = 0; i < n; i++) {
		if (!i || (!alike(&list[i], &list[i - 1]) && s->ngroups < SAMPLED_GROUPS))
			s->group[s->ngroups++].part = s->part + i;
		s->part[i] = list[i].part;
		s->group[s->ngroups - 1].n++;
	}
	free(list);
	for (unsigned i = 0; i < s->ngroups && !rc; i++)
		rc = make_group(&s->group[i], i);
	return rc;
}

static void sum_up(struct sampled_reuse *s)
{
	for (unsigned g = 0; g < s->ngroups; g++) {
		const struct statstack *b = &s->group[g].best;

		s->touches += s->group[g].touches;
		s->lines = fmax(s->lines, b->n ? b->knot[b->n - 1].lines : 0);
	}
}

int sampled_reuse_make(struct sampled_reuse *s, struct reading *r, unsigned process,
		       struct err *err)
{
	int rc;

	memset(s, 0, sizeof(*s));
	s->hits = r->view.counters.watch_hits;
	s->group = calloc(SAMPLED_GROUPS, sizeof(*s->group));
	if (!s->group)
		return err_no_memory(err, "reuse distances");
	rc = reuse_parts_make(&s->parts, r, process, err);
	if (!rc && make_groups(s))
		rc = err_no_memory(err, "reuse distances");
	if (rc)
		sampled_reuse_free(s);
	else
		sum_up(s);
	return rc;
}

/* Reading the curves. */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Misses of a draw. Beyond the longest observed time it is unknown how fast misses fall. */
static double drawn_misses(const struct sampled_group *g, unsigned draw, double lines)
{
	const struct statstack *c = &g->draw[draw];
	double at = lines * g->across[draw], m = statstack_misses(c, at);
	double known = c->n ? c->knot[c->n - 1].lines : 0;

	if (at > known)
		m *= pow(fmax(known, 1) / at, g->tail[draw]);
	return m * g->odds[draw] / (1 - m + m * g->odds[draw]);
}

double sampled_reuse_misses(const struct sampled_reuse *s, double lines, double *low, double *high)
{
	double drawn[SAMPLED_DRAWS] = { 0 }, all[SAMPLED_DRAWS] = { 0 }, best = 0;

	for (unsigned g = 0; g < s->ngroups; g++) {
		const struct sampled_group *k = &s->group[g];

		best += k->touches / s->touches * statstack_misses(&k->best, lines);
		for (unsigned i = 0; low && i < SAMPLED_DRAWS; i++) {
			drawn[i] += k->drawn[i] * drawn_misses(k, i, lines);
			all[i] += k->drawn[i];
		}
	}
	if (low) {
		for (unsigned i = 0; i < SAMPLED_DRAWS; i++)
			drawn[i] /= all[i];
		qsort(drawn, SAMPLED_DRAWS, sizeof(drawn[0]), by_value);
		*low = fmin(drawn[SAMPLED_DRAWS / 40], best);
		*high = fmax(drawn[SAMPLED_DRAWS - 1 - SAMPLED_DRAWS / 40], best);
	}
	return best;
}

void sampled_reuse_free(struct sampled_reuse *s)
{
	for (unsigned g = 0; s->group && g < SAMPLED_GROUPS; g++) {
		statstack_fini(&s->group[g].best);
		for (unsigned i = 0; i < SAMPLED_DRAWS; i++)
			statstack_fini(&s->group[g].draw[i]);
	}
	free(s->group);
	free(s->part);
	reuse_parts_free(&s->parts);
	memset(s, 0, sizeof(*s));
}
