/* SPDX-License-Identifier: MIT */
#include "observe/curve.h"

#include <math.h>

#define SEEN 0.02  /* share of the windows' touches below which the curve is unknown */
#define LEAST 1e-3 /* stands for S = 0 in logarithms */
#define BETWEEN 16 /* knots in the range where only the number of reuses is known */

#define MOST 4e18 /* limit of counts, for damaged recordings */

static uint64_t scaled(uint64_t v, double by)
{
	return by < 1 || by > 1 ? (uint64_t)fmin((double)v * by + 0.5, MOST) : v;
}

static void add(uint64_t *dst, const uint64_t *src, unsigned n, double by)
{
	for (unsigned i = 0; i < n; i++)
		if (src[i])
			dst[i] += scaled(src[i], by);
}

void curve_add(struct reuses *dst, const struct reuses *src, double by)
{
	dst->windows += src->windows;
	dst->watched += src->watched;
	dst->instructions += scaled(src->instructions, by);
	dst->touches += scaled(src->touches, by);
	dst->touches_square += scaled(src->touches_square, by * by);
	dst->watches_square += scaled(src->watches_square, by * by);
#define X(name, what) dst->name += scaled(src->name, by);
	REUSES_COUNTS(X)
#undef X
	add(dst->near_ended, src->near_ended, REUSES_NEAR, by);
	add(dst->near_left, src->near_left, REUSES_NEAR, by);
	add(dst->far_ended, src->far_ended, DISTANCE_BUCKETS, by);
	add(dst->far_left, src->far_left, DISTANCE_BUCKETS, by);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void take(uint64_t *dst, const uint64_t *src, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		dst[i] = less(dst[i], src[i]);
}

void curve_remove(struct reuses *dst, const struct reuses *src)
{
	dst->windows = less(dst->windows, src->windows);
	dst->watched = less(dst->watched, src->watched);
	dst->instructions = less(dst->instructions, src->instructions);
	dst->touches = less(dst->touches, src->touches);
	dst->touches_square = less(dst->touches_square, src->touches_square);
	dst->watches_square = less(dst->watches_square, src->watches_square);
#define X(name, what) dst->name = less(dst->name, src->name);
	REUSES_COUNTS(X)
#undef X
	take(dst->near_ended, src->near_ended, REUSES_NEAR);
	take(dst->near_left, src->near_left, REUSES_NEAR);
	take(dst->far_ended, src->far_ended, DISTANCE_BUCKETS);
	take(dst->far_left, src->far_left, DISTANCE_BUCKETS);
}

/* The largest time of a bucket. */
static double end_of(unsigned b)
{
	return (double)distance_of_bucket(b + 1) - 1;
}

static int add_near(struct statstack *s, const struct reuses *u)
{
	double alive[REUSES_NEAR], seen = 0, all = 0;

	for (unsigned b = 0; b < REUSES_NEAR; b++)
		all += (double)u->near_ended[b] + (double)u->near_left[b];
	if (all <= 0 || statstack_add(s, 0, 1))
		return -1;
	survival(u->near_ended, u->near_left, REUSES_NEAR, 0, alive);
	seen = all;
	for (unsigned b = 0; b < REUSES_NEAR && seen > SEEN * all; b++) {
		seen -= (double)u->near_ended[b] + (double)u->near_left[b];
		if (b && statstack_add(s, end_of(b), alive[b]))
			return -1;
	}
	return 0;
}

static int add_between(struct statstack *s, double time, double alive, double bend)
{
	const struct statstack_knot from = s->knot[s->n - 1];

	if (from.time <= 0 || time <= from.time || from.alive <= 0)
		return 0;
	alive = fmax(alive, LEAST);
	for (unsigned i = 1; i < BETWEEN; i++) {
		double at = (double)i / BETWEEN;

		if (statstack_add(s, from.time * pow(time / from.time, at),
				  from.alive * pow(alive / from.alive, pow(at, bend))))
			return -1;
	}
	return 0;
}

static double part(uint64_t of, uint64_t all)
{
	return all ? (double)of / (double)all : 0;
}

/*
 * The share of far intervals that end soon. A watched line's first interval is also short if its
 * visit goes on; windows tell how often that is, from the touches before the chosen one, of the
 * same words.
 */
static double soon(const struct reuses *u)
{
	double before = part(u->before, u->watches), begun = part(u->soon, u->watches);

	return before < 1 ? fmin(fmax((begun - before) / (1 - before), 0), 1) : 0;
}

/* Returns visits of a line for each visit of its watched words. A visit of a single word is as
 * likely to be of an unwatched word as of the other watched one. */
static double unseen(const struct reuses *u)
{
	double other = part(u->other, u->same + u->other) / (REUSES_WATCHED - 1);

	return 1 + (REUSES_WORDS - REUSES_WATCHED) * other;
}

static int add_far(struct statstack *s, const struct reuses *u, double touches_ns, double bend)
{
	unsigned first = distance_bucket(REUSES_SOON_NS), known;
	double alive[DISTANCE_BUCKETS], begin, all, more = unseen(u);

	if (!u->watches)
		return 0;
	all = statstack_alive(s, REUSES_LONG);
	begin = 1 - soon(u);
	known = survival(u->far_ended, u->far_left, DISTANCE_BUCKETS, first, alive);
	if (add_between(s, REUSES_SOON_NS * touches_ns, all * begin, bend) ||
	    statstack_add(s, REUSES_SOON_NS * touches_ns, all * begin))
		return -1;
	for (unsigned b = first; b <= known; b++)
		if ((u->far_ended[b] || u->far_left[b]) &&
		    statstack_add(s, end_of(b) * touches_ns, all * begin * pow(alive[b], more)))
			return -1;
	return 0;
}

int curve_of(struct statstack *s, const struct reuses *u, double touches_ns, double bend)
{
	*s = (struct statstack){ 0 };
	if (add_near(s, u) || add_far(s, u, touches_ns, bend)) {
		statstack_fini(s);
		return -1;
	}
	return 0;
}
