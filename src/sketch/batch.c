/* SPDX-License-Identifier: MIT */
/*
 * Many values at once. Those of entries that are hit most are counted by comparing all values with one at a time;
 * what is left goes through a small table, which counts it exactly; the counts are merged into the list.
 */
#include <string.h>

#include "sketch/hot_priv.h"

#define PIECE 256    /* values at a time */
#define SLOT_BITS 11 /* of the table: a piece fills an eighth of it */
#define ENTER 64     /* what is no more than the 64th part of a piece does not enter a full list */
#define STRETCH 64   /* a piece of as many may be told to be of different values */

struct table {
	uint64_t value[1u << SLOT_BITS];
	uint16_t count[1u << SLOT_BITS];
	uint16_t used[PIECE]; /* slots */
	unsigned n;
};

/* How often `value` occurs; the others move to the front of v. */
static unsigned take_out(uint64_t *v, unsigned n, uint64_t value)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t x = v[i];

		v[k] = x;
		k += x != value;
	}
	return k;
}

static bool all_equal(const uint64_t *v, unsigned n)
{
	uint64_t differ = 0;

	for (unsigned i = 0; i < n; i++)
		differ |= v[i] ^ v[0];
	return !differ;
}

static unsigned slot_of(uint64_t value)
{
	return (unsigned)(value * 0x9e3779b97f4a7c15ull >> (64 - SLOT_BITS));
}

static void count_all(struct table *t, const uint64_t *v, unsigned n)
{
	t->n = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned s = slot_of(v[i]);

		while (t->count[s] && t->value[s] != v[i])
			s = (s + 1) & ((1u << SLOT_BITS) - 1);
		t->value[s] = v[i];
		t->used[t->n] = (uint16_t)s;
		t->n += !t->count[s]++;
	}
}

/* Those of the list's own. */
static void count_entries(struct hot *h, struct table *t)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct entry *e = &h->e[i];
		unsigned s = slot_of(e->value);

		while (t->count[s] && t->value[s] != e->value)
			s = (s + 1) & ((1u << SLOT_BITS) - 1);
		e->count += t->count[s];
		if (t->count[s])
			t->count[s] = UINT16_MAX; /* done */
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

/* The list is full: what the table holds beyond the entries takes the places of those that are less. */
static void replace(struct hot *h, const struct table *t, unsigned enters)
{
	uint64_t rest = h->rest, out = rest;
	unsigned m = least_of(h);

	for (unsigned i = 0; i < t->n; i++) {
		unsigned s = t->used[i], c = t->count[s];
		uint64_t most = c + rest;

		if (c == UINT16_MAX)
			continue;
		if (c >= enters && h->e[m].count < most) {
			uint64_t gone = h->e[m].count;

			h->e[m] = (struct entry){ t->value[s], most, rest };
			most = gone;
			m = least_of(h);
		}
		if (most > out)
			out = most;
	}
	h->rest = out;
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

static int merge_table(struct hot *h, struct table *t, unsigned n)
{
	unsigned enters = n / ENTER + 1;
	bool out = false;
	int rc = 0;

	count_entries(h, t);
	for (unsigned i = 0; i < t->n && !rc; i++) {
		unsigned s = t->used[i], c = t->count[s];

		if (c == UINT16_MAX)
			continue;
		if (h->n == h->capacity || (h->rest && c < enters)) {
			out = true;
			continue;
		}
		rc = hot_append(h, t->value[s], c + h->rest, h->rest);
		t->count[s] = UINT16_MAX;
	}
	if (out && !rc) {
		replace(h, t, enters);
		drop_rare(h);
	}
	for (unsigned i = 0; i < t->n; i++)
		t->count[t->used[i]] = 0;
	return rc;
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

/* Rising or falling all the way: no two are equal. */
static bool all_differ(const uint64_t *v, unsigned n)
{
	bool rises = v[1] > v[0], differ = true;

	if (n < STRETCH || (v[2] > v[1]) != rises || (v[3] > v[2]) != rises)
		return false;
	for (unsigned i = 1; i < n; i++)
		differ &= rises ? v[i] > v[i - 1] : v[i] < v[i - 1];
	return differ;
}

static bool contains(const uint64_t *v, unsigned n, uint64_t value)
{
	bool rises = v[n - 1] > v[0];
	unsigned low = 0, high = n;

	while (high - low > 1) {
		unsigned mid = (low + high) / 2;

		if (rises ? v[mid] <= value : v[mid] >= value)
			low = mid;
		else
			high = mid;
	}
	return v[low] == value;
}

/* All values of the piece are different, and the list is no longer exact: none enters. */
static void add_different(struct hot *h, const uint64_t *v, unsigned n)
{
	for (unsigned i = 0; i < h->n; i++)
		h->e[i].count += contains(v, n, h->e[i].value);
	h->rest++;
	h->total += n;
	drop_rare(h);
}

static int add_piece(struct hot *h, const uint64_t *value, unsigned n)
{
	static _Thread_local struct table table;
	uint64_t v[PIECE];
	unsigned left = n, i;
	int rc = 0;

	if (all_equal(value, n))
		return hot_add(h, value[0], n);
	if (h->rest && all_differ(value, n)) {
		add_different(h, value, n);
		return 0;
	}
	memcpy(v, value, n * sizeof(*v));
	for (i = 0; i < h->n && left; i++) {
		unsigned after = take_out(v, left, h->e[i].value);

		h->e[i].count += left - after;
		lift(h, i);
		if (left - after < left / 4) {
			left = after;
			break;
		}
		left = after;
	}
	if (left) {
		count_all(&table, v, left);
		rc = merge_table(h, &table, n);
	}
	h->total += n;
	return rc;
}

int hot_add_many(struct hot *h, const uint64_t *value, unsigned n)
{
	for (unsigned k; n; value += k, n -= k) {
		k = n < PIECE ? n : PIECE;
		if (h->method == HOT_COUNTING || k < 8) {
			for (unsigned i = 0; i < k; i++)
				if (hot_add(h, value[i], 1))
					return -1;
		} else if (add_piece(h, value, k)) {
			return -1;
		}
	}
	return 0;
}
