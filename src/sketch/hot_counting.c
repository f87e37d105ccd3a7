/* SPDX-License-Identifier: MIT */
/*
 * A counting sample misses, for each value, the occurrences before the one that entered it: as many as a coin of 1 /
 * tau falls on the wrong side in a row, tau - 1 on average. Raising tau preserves this, as if tau had had its present
 * value from the beginning. A list merged from several samples (`streams`) misses at most the sum of as many such runs.
 * A list that is still exact is merged as single occurrences and adds no run.
 */
#include "sketch/hot_priv.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/random.h"

#define TAU_GROWTH 1.1 /* growth of tau, after Gibbons and Matias */

static _Thread_local uint64_t random_state = 0x9e3779b97f4a7c15ull;

void hot_seed(uint64_t seed)
{
	random_state = seed * 2 + 1;
}

/* Draws the number of tosses before the first success, of probability 1 / tau. */
static uint64_t failures(double tau)
{
	double n = tau > 1 ? floor(log(1 - random_part(&random_state)) / log1p(-1 / tau)) : 0;

	return n < 0x1p62 ? (uint64_t)n : 1ull << 62;
}

/*
 * Raises tau to `next`. Each entry keeps its count with probability tau / next;
 * otherwise the occurrence that entered it is discarded, and the next occurrence to enter is sought
 * with probability 1 / next.
 */
static void raise_to(struct hot *h, double next)
{
	unsigned k = 0;

	invariant(h->method == HOT_COUNTING && h->tau >= 1);
	if (next <= h->tau)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = h->e[i];
		uint64_t lost = random_part(&random_state) < h->tau / next ? 0 : 1 + failures(next);

		if (lost >= e.count)
			continue;
		e.weight *= (double)(e.count - lost) / (double)e.count;
		e.count -= lost;
		h->e[k++] = e;
	}
	h->n = (uint16_t)k;
	h->tau = next;
}

/* Thins the list. A new entry is thinned like the others, because it entered at the lower tau. */
static void thin(struct hot *h)
{
	while (h->n > h->capacity)
		raise_to(h, h->tau * TAU_GROWTH);
}

int hot_enter(struct hot *h, uint64_t value, uint64_t n)
{
	/* A single toss is cheaper than drawing the number of failures. */
	uint64_t skipped = n == 1 ? random_part(&random_state) * h->tau >= 1 : failures(h->tau);

	if (skipped >= n)
		return 0;
	if (hot_append(h, value, n - skipped, 0))
		return -1;
	thin(h);
	return 0;
}

/* Feeds an exact list to h, which has room for all of it. */
static void feed(struct hot *h, const struct hot *exact)
{
	invariant(hot_exact(exact));
	for (unsigned i = 0; i < exact->n; i++) {
		const struct entry *s = &exact->e[i];
		struct entry *d = hot_find(h, s->value);

		if (d) {
			d->count += s->count;
			d->weight += s->weight;
			continue;
		}
		hot_enter(h, s->value, s->count);
		d = hot_find(h, s->value);
		if (d)
			d->weight *= s->weight / (double)s->count;
	}
}

/* Adds a counting sample of the same tau to h, which has room. */
static void add_sample(struct hot *h, const struct hot *sample)
{
	uint64_t missed = h->tau < 0x1p60 ? (uint64_t)(h->tau - 0.5) : 1ull << 60;

	invariant(h->tau == sample->tau);
	for (unsigned i = 0; i < sample->n; i++) {
		const struct entry *s = &sample->e[i];
		struct entry *d = hot_find(h, s->value);

		if (d) {
			d->count += s->count;
			d->error += s->error + missed;
			d->weight += s->weight;
		} else if (!hot_append(h, s->value, s->count, s->error)) {
			h->e[h->n - 1].weight = s->weight;
		}
	}
	hot_counting(h)->streams += hot_counting(sample)->streams;
	if (hot_counting(h)->streams > STREAMS_MAX)
		hot_counting(h)->streams = STREAMS_MAX;
}

int hot_merge_counting(struct hot *dst, const struct hot *src)
{
	bool src_exact = hot_exact(src);
	struct hot *a = hot_copy(dst, src->n), *b = hot_copy(src, dst->n), *sum = a;

	if (!a || !b || !hot_grow(dst, dst->capacity)) {
		hot_free(a);
		hot_free(b);
		return -1;
	}
	if (src_exact) {
		feed(a, b);
	} else if (hot_exact(dst)) {
		feed(b, a);
		sum = b;
	} else {
		raise_to(a, b->tau);
		raise_to(b, a->tau);
		add_sample(a, b);
	}
	sum->capacity = dst->capacity;
	thin(sum);
	invariant(sum->n <= dst->room);
	memcpy(dst->e, sum->e, sum->n * sizeof(*sum->e));
	dst->n = sum->n;
	dst->tau = sum->tau;
	hot_counting(dst)->streams = hot_counting(sum)->streams;
	hot_free(a);
	hot_free(b);
	return 0;
}

/* The standard normal distribution's upper quantile (Abramowitz and Stegun 26.2.23, to 0.0005). */
static double normal_quantile(double doubt)
{
	double t = sqrt(-2 * log(doubt));

	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/*
 * Returns the number of missed occurrences of a value that is exceeded with probability `doubt`.
 * Each run of failures is an exponential variable rounded down; their sum is at most a gamma
 * variable (Wilson and Hilferty, to 0.5 %).
 */
double hot_missed(const struct hot *h, double doubt)
{
	double m = hot_counting(h)->streams, root;

	if (h->tau <= 1)
		return 0;
	root = 1 - 1 / (9 * m) + normal_quantile(doubt) / (3 * sqrt(m));
	return floor((m == 1 ? -log(doubt) : m * root * root * root) / -log1p(-1 / h->tau));
}
