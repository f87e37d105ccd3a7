/* SPDX-License-Identifier: MIT */
/*
 * Adding many values at once, in pieces. A piece is compared with one listed value at a time, which
 * counts the occurrences of listed values and takes them out of the piece. While the list has room,
 * the remaining values are counted exactly in a table and enter. Once it is full, most of the
 * remaining values are rare: a sieve, which counts values by hash, bounds how often each can have
 * occurred; only values that may have occurred often go through the table, and can replace less
 * frequent entries. The bound for values outside the list grows by the largest number of
 * occurrences that stayed outside.
 */
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "sketch/batch_scan.h"
#include "sketch/hot_priv.h"

#define SLOT_BITS 11 /* size of the table: a piece fills an eighth of it */
#define FEW 64	     /* values up to which a smaller part of the table is used */
#define FEW_BITS 9
#define ENTERS 32 /* a value with less than that part of a piece does not enter a full list */
#define SIEVED 32 /* the sieve does not pay for a piece of fewer values */

struct table {
	uint64_t value[1u << SLOT_BITS];
	uint16_t count[1u << SLOT_BITS];
	uint16_t used[SCAN_MAX]; /* slots in use */
	unsigned n;
};

static void count_in_table(struct table *t, const uint64_t *v, unsigned n)
{
	unsigned bits = n <= FEW ? FEW_BITS : SLOT_BITS;

	invariant(n <= SCAN_MAX);
	t->n = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned s = (unsigned)hash_bits(v[i], bits);

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

	invariant(h->n);
	for (unsigned k = 1; k < h->n; k++)
		if (h->e[k].count < h->e[m].count)
			m = k;
	return m;
}

/* Adds c occurrences of a value that is not in the list, up to `before` of which may have
 * occurred earlier. Returns the most that a value outside can now have occurred, as far as this
 * step tells. */
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
	invariant(*least < h->n && h->e[*least].count >= h->rest);
	gone = h->e[*least].count;
	if (gone >= most)
		return most;
	h->e[*least] = (struct entry){ .value = value, .count = most, .error = before };
	*least = least_of(h);
	return gone;
}

/* Adds values that are not in the list, each with all its occurrences. Those that occur at least
 * `enters` times enter. */
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
	invariant(out >= h->rest); /* what may have occurred outside never becomes less */
	h->rest = out;
	return rc;
}

/* Removes entries that are no more frequent than a value outside the list can be. */
static void drop_rare(struct hot *h)
{
	unsigned k = 0;

	for (unsigned i = 0; i < h->n; i++)
		if (h->e[i].count >= h->rest)
			h->e[k++] = h->e[i];
	h->n = (uint16_t)k;
}

/* Moves entry i towards the front, so that hot entries come roughly first. */
static void lift(struct hot *h, unsigned i)
{
	struct entry e = h->e[i];

	invariant(i < h->n);
	if (i && h->e[i - 1].count < e.count) {
		h->e[i] = h->e[i - 1];
		h->e[i - 1] = e;
	}
}

/* Copies to v the values of a piece that the sieve's counters do not rule out, without those in
 * entries from `from` on. Returns how many. */
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

/* Adds a piece to a full list. Entries from `from` on may occur in the piece. */
static int sieve(struct hot *h, const uint64_t *value, unsigned n, unsigned from, unsigned enters)
{
	uint8_t in[SCAN_SIEVE];
	uint16_t which[SCAN_MAX];
	uint64_t before = h->rest, v[SCAN_MAX];
	unsigned k, fullest;
	int rc = 0;
	bool one;

	invariant(n && n <= SCAN_MAX && from <= h->n);
	scan_sieve(in, which, value, n);
	/* The counters are too narrow for a piece of one value. */
	one = n > UINT8_MAX && !in[which[0]];
	if (one)
		in[which[0]] = UINT8_MAX;
	for (unsigned i = from; i < h->n; i++) {
		uint8_t *b = &in[scan_hash(h->e[i].value)];
		unsigned c = *b ? scan_count(value, n, h->e[i].value) : 0;

		invariant(one || *b >= c); /* the counter has at least this value's occurrences */
		h->e[i].count += c;
		*b = (uint8_t)(one ? *b : *b - c);
		if (c && i > from) /* Entries before this one are not compared again. */
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

/* Handles values that are all different while the list is no longer exact: none enters. */
static void add_different(struct hot *h, const uint64_t *v, unsigned n)
{
	uint64_t low = v[0] < v[n - 1] ? v[0] : v[n - 1];
	uint64_t high = v[0] < v[n - 1] ? v[n - 1] : v[0];

	invariant(n > 1 && low < high);
	for (unsigned i = 0; i < h->n; i++)
		if (h->e[i].value >= low && h->e[i].value <= high)
			h->e[i].count += scan_count(v, n, h->e[i].value);
	h->rest++;
	drop_rare(h);
}

static int add_piece(struct hot *h, const uint64_t *value, unsigned n)
{
	bool full = h->n == h->capacity || hot_rest(h);
	unsigned left = n, i = 0, enters = full ? n / ENTERS + 1 : 1;
	uint64_t v[SCAN_MAX];

	invariant(h->method == HOT_SPACE_SAVING && h->wide);
	if (full && scan_differ(value, n)) {
		add_different(h, value, n);
		return 0;
	}
	if (h->n) { /* Most streams have one hottest value. */
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
	/* The loop continues while each pass shortens the piece much. */
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
	unsigned bytes = h->n * (unsigned)(h->wide ? sizeof(*h->e) : sizeof(*h->brief));

	for (unsigned i = 0; i < bytes && !hot_holds_only(h); i += 64)
		__builtin_prefetch((const char *)h->e + i, 1);
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
			if (!hot_widen(h) || add_piece(h, value, k))
				return -1;
			h->total += k;
			hot_check(h);
		}
	}
	return 0;
}
