/* SPDX-License-Identifier: MIT */
#include "model/statstack.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"

unsigned survival(const uint64_t *ended, const uint64_t *left, unsigned n, unsigned first,
		  double *survival)
{
	double risk = 0, alive = 1;
	unsigned known = first;

	for (unsigned b = first; b < n; b++)
		risk += (double)ended[b] + (double)left[b];
	for (unsigned b = first; b < n; b++) {
		/* Those that left within the bucket were observed through half of it on average. */
		double seen = risk - (double)left[b] / 2;

		if (ended[b])
			alive *= fmax(1 - (double)ended[b] / seen, 0);
		if (ended[b] || left[b])
			known = b;
		risk -= (double)ended[b] + (double)left[b];
		survival[b] = alive;
	}
	return known;
}

int statstack_add(struct statstack *s, double time, double alive)
{
	struct statstack_knot k = { fmax(time, 0), fmin(fmax(alive, 0), 1), 0 };

	if (!array_reserve(s->knot, s->cap, s->n + 1))
		return -1;
	if (s->n) {
		const struct statstack_knot *last = &s->knot[s->n - 1];

		k.time = fmax(k.time, last->time);
		k.alive = fmin(k.alive, last->alive);
		k.lines = last->lines + (k.time - last->time) * (k.alive + last->alive) / 2;
	}
	s->knot[s->n++] = k;
	return 0;
}

/* Returns S at the point where its integral from knot a on reaches `lines`. */
static double alive_between(const struct statstack_knot *a, const struct statstack_knot *b,
			    double lines)
{
	double slope = (b->alive - a->alive) / (b->time - a->time);

	/* alive(x)^2 = alive(a)^2 + 2 slope lines */
	return sqrt(fmax(a->alive * a->alive + 2 * slope * lines, b->alive * b->alive));
}

double statstack_misses(const struct statstack *s, double lines)
{
	size_t low;

	if (!s->n)
		return 1;
	low = search_first(i, 0, s->n, s->knot[i].lines > lines);
	if (!low)
		return s->knot[0].alive;
	if (low == s->n)
		return s->knot[s->n - 1].alive;
	return alive_between(&s->knot[low - 1], &s->knot[low], lines - s->knot[low - 1].lines);
}

double statstack_alive(const struct statstack *s, double time)
{
	for (size_t i = 1; i < s->n; i++) {
		const struct statstack_knot *a = &s->knot[i - 1], *b = a + 1;

		if (time < b->time)
			return a->alive +
			       (b->alive - a->alive) * (time - a->time) / (b->time - a->time);
	}
	return s->n ? s->knot[s->n - 1].alive : 1;
}

void statstack_fini(struct statstack *s)
{
	free(s->knot);
	*s = (struct statstack){ 0 };
}
