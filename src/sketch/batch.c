/* SPDX-License-Identifier: MIT */
/*
 * Many values at once, in pieces. How often a list's own values occur is counted by comparing all of a piece with one
 * value at a time, and what is hot is taken out of it. While the list has room what is left is counted exactly in a
 * table and enters. Once it is full, most of what is left is rare: a sieve, the number of values by hash, bounds
 * how often each can have occurred; only what may have occurred often goes through the table, and can take
 * the place of what is less in the list. The bound of what is outside grows by the most that stayed outside.
 */
#include <string.h>

#include "sketch/batch_scan.h"
#include "sketch/hot_priv.h"

#define SLOT_BITS 11 /* of the table: a piece fills an eighth of it */
#define FEW 64	     /* use only … */
#define FEW_BITS 9
#define ENTERS 32 /* what is less than that part of a piece does not enter a full list */
#define SIEVED 32 /* a piece of fewer is not worth the sieve */

struct table {
	uint64_t value[1u << SLOT_BITS];
	uint16_t count[1u << SLOT_BITS];
	uint16_t used[SCAN_MAX]; /* slots */
	unsigned n;
};

static unsigned hash(uint64_t value, unsigned bits)
{
	return (unsigned)(value * 0x9e3779b97f4a7c15ull >> (64 - bits));
}

static void count_in_table(struct table *t, const uint64_t *v, unsigned n)
{
	unsigned bits = n <= FEW ? FEW_BITS : SLOT_BITS;

	t->n = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned s = hash(v[i], bits);

		while (t->count[s] && t->value[s] != v[i])
			s = (s + 1) & ((1u << bits) - 1);
		t->value[s] = v[i];
		t->used[t->n] = (uint16_t)s;
		t->n += !t->count[s]++;
	}
}

static unsigned least_of(const struct hot *h)
{
	unsigned m = 0;

	for (unsigned k = 1; k < h->n; k++)
		if (h->e[k].count < h->e[m].count)
			m = k;
	return m;
}

/* c occurrences of a value that is not in the list, where up to `before` may have been earlier. Returns the most
 * that what is outside now can have occurred, as far as this tells. */
static uint64_t enter(struct hot *h, uint64_t value, uint64_t c, uint64_t before, unsigned *least,
		      int *rc)
{
	uint64_t most = c + before, gone;

	if (h->n < h->capacity) {
		*rc = hot_append(h, value, most, before);
		if (h->n == h->capacity)
			*least = least_of(h);
		return 0;
	}
	gone = h->e[*least].count;
	if (gone >= most)
		return most;
	h->e[*least] = (struct entry){ .value = value, .count = most, .error = before };
	*least = least_of(h);
	return gone;
}

/* Values of which none is in the list, all occurrences of each. Those of at least `enters` enter. */
static int add_new(struct hot *h, const uint64_t *v, unsigned n, unsigned enters)
{
	static _Thread_local struct table t;
	uint64_t before = h->rest, out = before;
	unsigned least = h->n == h->capacity ? least_of(h) : 0;
	int rc = 0;

	count_in_table(&t, v, n);
	for (unsigned i = 0; i < t.n; i++) {
		unsigned s = t.used[i], c = t.count[s];
		uint64_t most = c + before;

		t.count[s] = 0;
		if (c >= enters && !rc)
			most = enter(h, t.value[s], c, before, &least, &rc);
		if (most > out)
			out = most;
	}
	h->rest = out;
	return rc;
}

/* What may have occurred more often outside the list need not be in it. */
static void drop_rare(struct hot *h)
{
	unsigned k = 0;

	for (unsigned i = 0; i < h->n; i++)
		if (h->e[i].count >= h->rest)
			h->e[k++] = h->e[i];
	h->n = (uint16_t)k;
}

/* Hot ones first, roughly. */
static void lift(struct hot *h, unsigned i)
{
	struct entry e = h->e[i];

	if (i && h->e[i - 1].count < e.count) {
		h->e[i] = h->e[i - 1];
		h->e[i - 1] = e;
	}
}

/* Of a piece the values that counters do not rule out, less those in entries from `from` on; to v, how many. */
static unsigned often(const struct hot *h, uint64_t *v, const uint64_t *value, unsigned n,
		      unsigned from, const uint8_t *in, const uint16_t *which, unsigned enters)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++) {
		v[k] = value[i];
		k += in[which[i]] >= enters;
	}
	for (unsigned i = from; i < h->n && k; i++)
		if (in[scan_hash(h->e[i].value)] >= enters)
			k = scan_take(v, k, h->e[i].value);
	return k;
}

/* The list is full. Of a piece, in which entries from `from` on may be. */
static int sieve(struct hot *h, const uint64_t *value, unsigned n, unsigned from, unsigned enters)
{
	uint8_t in[SCAN_SIEVE];
	uint16_t which[SCAN_MAX];
	uint64_t before = h->rest, v[SCAN_MAX];
	unsigned k, fullest;
	int rc = 0;
	bool one;

	scan_sieve(in, which, value, n);
	one = n > UINT8_MAX && !in[which[0]]; /* which cannot count as far */
	if (one)
		in[which[0]] = UINT8_MAX;
	for (unsigned i = from; i < h->n; i++) {
		uint8_t *b = &in[scan_hash(h->e[i].value)];
		unsigned c = *b ? scan_count(value, n, h->e[i].value) : 0;

		h->e[i].count += c;
		*b = (uint8_t)(one ? *b : *b - c);
		if (c && i > from) /* those before are not looked at again */
			lift(h, i);
	}
	fullest = scan_fullest(in, UINT8_MAX);
	if (fullest >= enters) {
		fullest = scan_fullest(in, (uint8_t)(enters - 1));
		k = often(h, v, value, n, from, in, which, enters);
		if (k)
			rc = add_new(h, v, k, enters);
	}
	if (before + fullest > h->rest)
		h->rest = before + fullest;
	drop_rare(h);
	return rc;
}

/* All values are different, and the list is no longer exact: none enters. */
static void add_different(struct hot *h, const uint64_t *v, unsigned n)
{
	uint64_t low = v[0] < v[n - 1] ? v[0] : v[n - 1];
	uint64_t high = v[0] < v[n - 1] ? v[n - 1] : v[0];

	for (unsigned i = 0; i < h->n; i++)
		if (h->e[i].value >= low && h->e[i].value <= high)
			h->e[i].count += scan_count(v, n, h->e[i].value);
	h->rest++;
	drop_rare(h);
}

static int add_piece(struct hot *h, const uint64_t *value, unsigned n)
{
	bool full = h->n == h->capacity || h->rest;
	unsigned left = n, i = 0, enters = full ? n / ENTERS + 1 : 1;
	uint64_t v[SCAN_MAX];

	if (full && scan_differ(value, n)) {
		add_different(h, value, n);
		return 0;
	}
	if (h->n) { /* mostly there is a hottest one */
		unsigned c = scan_count(value, n, h->e[0].value);

		if (full && n >= SIEVED && c < n / 8)
			return sieve(h, value, n, 0, enters);
		h->e[0].count += c;
		if (c == n)
			return 0;
		left = scan_others(v, value, n, h->e[0].value);
		i = 1;
	} else {
		memcpy(v, value, n * sizeof(*v));
	}
	/* as long as each makes it much less */
	for (unsigned before = 2 * n;
	     i < h->n && left && (left < before - before / 8 || !full || left < SIEVED); i++) {
		before = left;
		left = scan_take(v, left, h->e[i].value);
		h->e[i].count += before - left;
		lift(h, i);
	}
	if (!left)
		return 0;
	if (full && left >= SIEVED)
		return sieve(h, v, left, i, enters);
	if (add_new(h, v, left, enters))
		return -1;
	drop_rare(h);
	return 0;
}

void hot_expect(const struct hot *h)
{
	for (unsigned i = 0; i < h->n; i += 64 / sizeof(struct entry))
		__builtin_prefetch(&h->e[i], 1);
}

int hot_add_many(struct hot *h, const uint64_t *value, unsigned n)
{
	for (unsigned k; n; value += k, n -= k) {
		k = n < SCAN_MAX ? n : SCAN_MAX;
		if (h->method == HOT_COUNTING || k < 8) {
			for (unsigned i = 0; i < k; i++)
				if (hot_add(h, value[i], 1))
					return -1;
		} else {
			if (add_piece(h, value, k))
				return -1;
			h->total += k;
		}
	}
	return 0;
}
