/* SPDX-License-Identifier: MIT */
/* Sums and multiples of hot lists. */
#include "sketch/hot_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

#define FEW 64 /* entries up to which a sum needs no memory of its own */

static bool comes_first(const struct entry *x, const struct entry *y)
{
	return x->count != y->count ? x->count > y->count : x->value < y->value;
}

static int most_first(const void *a, const void *b)
{
	return comes_first(a, b) ? -1 : comes_first(b, a);
}

/* Sorts entries, most frequent first. Few are mostly in order already, as both lists were. */
static void sort(struct entry *e, unsigned n)
{
	if (n > FEW) {
		qsort(e, n, sizeof(*e), most_first);
		return;
	}
	for (unsigned i = 1; i < n; i++) {
		struct entry moved = e[i];
		unsigned k = i;

		for (; k && comes_first(&moved, &e[k - 1]); k--)
			e[k] = e[k - 1];
		e[k] = moved;
	}
}

static struct entry *find(struct entry *e, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		if (e[i].value == value)
			return &e[i];
	return NULL;
}

/* What is added to each of a list's values, and the bits that the sum is narrowed to. */
struct change {
	uint64_t add;
	unsigned bits;
};
static const struct change no_change = { 0, 64 };

static uint64_t changed(uint64_t v, struct change c)
{
	invariant(c.bits && c.bits <= 64);
	v += c.add;
	return c.bits < 64 ? v & ((1ull << c.bits) - 1) : v;
}

/* Writes the sum of two lists to `all`, with the values of src changed. A value that one list lacks may have occurred there as often as that list's
 * bound for values outside. Returns the number of entries. */
static unsigned sum_of(struct entry *all, const struct hot *dst, const struct hot *src,
		       struct change c)
{
	unsigned n = dst->n, k = 0;

	for (unsigned i = 0; i < n; i++) {
		all[i] = hot_entry(dst, i);
		all[i].count += hot_rest(src);
		all[i].error += hot_rest(src);
	}
	for (unsigned i = 0; i < src->n; i++) {
		struct entry s = hot_entry(src, i), *a;

		s.value = changed(s.value, c);
		a = find(all, n, s.value);
		if (a) {
			a->count += s.count - hot_rest(src);
			a->error += s.error - hot_rest(src);
			a->weight += s.weight;
		} else {
			all[n + k++] = (struct entry){ s.value, s.count + hot_rest(dst),
						       s.error + hot_rest(dst), s.weight };
		}
	}
	sort(all, n + k);
	return n + k;
}

static int merge_space_saving(struct hot *dst, const struct hot *src, struct change c)
{
	struct entry few[FEW], *all = few;
	unsigned n = dst->n + src->n;
	uint64_t rest = hot_rest(dst) + hot_rest(src);
	int rc;

	if (n > FEW)
		all = calloc(n, sizeof(*all));
	if (!all)
		return -1;
	n = sum_of(all, dst, src, c);
	if (n > dst->capacity) {
		if (all[dst->capacity].count > rest)
			rest = all[dst->capacity].count;
		n = dst->capacity;
	}
	/* no value outside the sum can have occurred more often than its least entry */
	invariant(!n || all[n - 1].count >= rest);
	rc = rest && !hot_room_for_rest(dst) ? -1 : hot_put_all(dst, all, n);
	if (!rc && rest)
		dst->rest = rest;
	if (all != few)
		free(all);
	return rc;
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
		c->rest = hot_rest(h);
	}
	return c;
}

/* `c` is for Space-Saving alone. */
static int merge(struct hot *dst, const struct hot *src, struct change c)
{
	bool weighted = dst->weighted || src->weighted;

	if (dst->method != src->method)
		return -1;
	if (weighted && !dst->weighted)
		hot_weigh_evenly(dst);
	dst->weighted = weighted;
	if (dst->method == HOT_COUNTING ? hot_merge_counting(dst, src)
					: merge_space_saving(dst, src, c))
		return -1;
	dst->weight += src->weight;
	dst->total += src->total;
	hot_check(dst);
	return 0;
}

/* Merges a copy of src, with its values changed and, if `evenly`, with weights of 1 each. */
static int merge_copy(struct hot *dst, const struct hot *src, struct change change, bool evenly)
{
	struct hot *c = hot_copy(src, 0);
	int rc;

	if (!c)
		return -1;
	c->capacity = src->capacity;
	for (unsigned i = 0; i < c->n; i++)
		c->e[i].value = changed(c->e[i].value, change);
	if (evenly)
		hot_weigh_evenly(c);
	rc = merge(dst, c, no_change);
	hot_free(c);
	return rc;
}

int hot_merge(struct hot *dst, const struct hot *src)
{
	return hot_merge_sum(dst, src, 0, 64);
}

int hot_merge_sum(struct hot *dst, const struct hot *src, uint64_t add, unsigned bits)
{
	struct change c = { add, bits };
	bool evenly = dst->weighted && !src->weighted;

	if (evenly || (src->method == HOT_COUNTING && (add || bits < 64)))
		return merge_copy(dst, src, c, evenly);
	return merge(dst, src, c);
}

/* Multiplies an entry of a list whose bound for values outside becomes `rest`. */
static struct entry scaled(struct entry e, double factor, uint64_t rest)
{
	uint64_t error = (uint64_t)ceil((double)e.error * factor);

	e.count = (uint64_t)((double)e.count * factor);
	e.error = error < e.count ? error : e.count;
	/* the bound of the values outside was rounded up, and no entry is below it */
	if (e.count < rest) {
		e.error += rest - e.count;
		e.count = rest;
	}
	e.weight *= factor;
	return e;
}

int hot_scale(struct hot *h, double factor)
{
	bool counts = h->method == HOT_COUNTING;
	uint64_t rest = counts ? 0 : (uint64_t)ceil((double)hot_rest(h) * factor);
	bool fit = true;

	invariant(factor > 0);
	for (unsigned i = 0; i < h->n; i++)
		fit &= hot_fits(h, scaled(hot_entry(h, i), factor, rest).count);
	if (!fit && !hot_widen(h))
		return -1;
	for (unsigned i = 0; i < h->n; i++)
		hot_put(h, i, scaled(hot_entry(h, i), factor, rest));
	h->total = (uint64_t)ceil((double)h->total * factor);
	if (counts)
		h->tau *= factor;
	else if (rest)
		h->rest = rest;
	h->weight *= factor;
	hot_check(h);
	return 0;
}
