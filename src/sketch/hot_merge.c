/* SPDX-License-Identifier: MIT */
/* Sums and multiples of hot lists. */
#include "sketch/hot_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

static int most_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->value > y->value) - (x->value < y->value);
}

static int merge_space_saving(struct hot *dst, const struct hot *src)
{
	unsigned n = dst->n, k = 0;
	uint64_t rest = dst->rest + src->rest;
	struct entry *all = calloc((size_t)dst->n + src->n + 1, sizeof(*all));

	if (!all)
		return -1;
	if (n)
		memcpy(all, dst->e, n * sizeof(*all));
	/* A value that one list lacks may have occurred there as often as that list's bound for
	 * values outside. */
	for (unsigned i = 0; i < n; i++) {
		all[i].count += src->rest;
		all[i].error += src->rest;
	}
	for (unsigned i = 0; i < src->n; i++) {
		struct entry s = hot_entry(src, i);
		struct entry *d = hot_find(dst, s.value);

		if (d) {
			struct entry *a = &all[d - dst->e];

			a->count += s.count - src->rest;
			a->error += s.error - src->rest;
			a->weight += s.weight;
		} else {
			all[n + k++] = (struct entry){ s.value, s.count + dst->rest,
						       s.error + dst->rest, s.weight };
		}
	}
	n += k;
	if (n)
		qsort(all, n, sizeof(*all), most_first);
	if (n > dst->capacity) {
		if (all[dst->capacity].count > rest)
			rest = all[dst->capacity].count;
		n = dst->capacity;
	}
	/* no value outside the sum can have occurred more often than its least entry */
	invariant(!n || all[n - 1].count >= rest);
	if (!hot_grow(dst, n)) {
		free(all);
		return -1;
	}
	if (n)
		memcpy(dst->e, all, n * sizeof(*all));
	dst->n = (uint16_t)n;
	dst->rest = rest;
	free(all);
	return 0;
}

struct hot *hot_copy(const struct hot *h, unsigned more)
{
	struct hot *c = hot_new(h->method, HOT_CAPACITY_MAX);

	if (!c || !hot_widen(c) || !hot_grow(c, h->n + more + 1u)) {
		hot_free(c);
		return NULL;
	}
	for (unsigned i = 0; i < h->n; i++)
		c->e[i] = hot_entry(h, i);
	c->n = h->n;
	c->weighted = h->weighted;
	c->weight = h->weight;
	c->total = h->total;
	if (h->method == HOT_COUNTING) {
		c->tau = h->tau;
		hot_counting(c)->streams = hot_counting(h)->streams;
	} else {
		c->rest = h->rest;
	}
	return c;
}

static int merge(struct hot *dst, const struct hot *src)
{
	bool weighted = dst->weighted || src->weighted;

	if (dst->method != src->method || !hot_widen(dst))
		return -1;
	if (weighted && !dst->weighted)
		hot_weigh_evenly(dst);
	if (dst->method == HOT_COUNTING ? hot_merge_counting(dst, src)
					: merge_space_saving(dst, src))
		return -1;
	dst->weighted = weighted;
	dst->weight += src->weight;
	dst->total += src->total;
	hot_check(dst);
	return 0;
}

int hot_merge(struct hot *dst, const struct hot *src)
{
	struct hot *even;
	int rc;

	if (!dst->weighted || src->weighted)
		return merge(dst, src);
	even = hot_copy(src, 0);
	if (!even)
		return -1;
	even->capacity = src->capacity;
	hot_weigh_evenly(even);
	rc = merge(dst, even);
	hot_free(even);
	return rc;
}

static uint64_t narrow(uint64_t v, unsigned bits)
{
	invariant(bits && bits <= 64);
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

int hot_merge_sum(struct hot *dst, const struct hot *src, uint64_t add, unsigned bits)
{
	struct hot *c;
	int rc = -1;

	if (!add && bits == 64)
		return hot_merge(dst, src);
	c = hot_copy(src, 0);
	if (!c)
		return -1;
	c->capacity = src->capacity;
	for (unsigned i = 0; i < c->n; i++)
		c->e[i].value = narrow(c->e[i].value + add, bits);
	rc = hot_merge(dst, c);
	hot_free(c);
	return rc;
}

int hot_scale(struct hot *h, double factor)
{
	uint64_t rest;

	invariant(factor > 0);
	if (!hot_widen(h))
		return -1;
	rest = h->method == HOT_COUNTING ? 0 : (uint64_t)ceil((double)h->rest * factor);
	for (unsigned i = 0; i < h->n; i++) {
		struct entry *e = &h->e[i];
		uint64_t error = (uint64_t)ceil((double)e->error * factor);

		e->count = (uint64_t)((double)e->count * factor);
		e->error = error < e->count ? error : e->count;
		/* the bound of the values outside was rounded up, and no entry is below it */
		if (e->count < rest) {
			e->error += rest - e->count;
			e->count = rest;
		}
		e->weight *= factor;
	}
	h->total = (uint64_t)ceil((double)h->total * factor);
	if (h->method == HOT_COUNTING)
		h->tau *= factor;
	else
		h->rest = rest;
	h->weight *= factor;
	hot_check(h);
	return 0;
}
