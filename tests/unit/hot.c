/* SPDX-License-Identifier: MIT */
/* Hot lists against exact counts, on streams of several kinds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/columns.h"
#include "sketch/hot_priv.h"

#define STREAM 20000
#define VALUES 4096

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A value of a stream: uniform, Zipf-like, two interleaved hot ones among noise, phases. */
static uint64_t value_of(int kind, int i)
{
	uint64_t u = draw() % (VALUES - 16), z = VALUES - 1;

	switch (kind) {
	case 0:
		return u;
	case 1:
		while (z > 1 && draw() % 2)
			z /= 2;
		return VALUES - 1 - z;
	case 2:
		return i % 3 == 0 ? VALUES - 1 : i % 3 == 1 ? VALUES - 2 : u;
	default:
		return i * 5 / STREAM * 100 + (uint64_t)(draw() % 4 == 0);
	}
}

static struct hot *fill(enum hot_method m, unsigned capacity, int kind, uint64_t *exact, int n)
{
	struct hot *h = hot_new(m, capacity);

	assert_non_null(h);
	for (int i = 0; i < n; i++) {
		uint64_t v = value_of(kind, i);

		exact[v]++;
		assert_int_equal(hot_add(h, v, 1), 0);
	}
	return h;
}

/* How many of the reported bounds do not hold, and of how many. */
static void count_violations(const struct hot *h, const uint64_t *exact, unsigned *bad,
			     unsigned *all)
{
	struct hot_value v[64];
	unsigned n = hot_top(h, v, 64);

	for (unsigned i = 0; i < n; i++) {
		double is = (double)exact[(uint32_t)v[i].value]; /* alike() or not */

		(*all)++;
		if (is < v[i].low || is > v[i].high)
			(*bad)++;
		assert_true(v[i].low <= v[i].count && v[i].count <= v[i].high);
		if (i)
			assert_true(v[i - 1].count >= v[i].count);
	}
}

static void test_exact_below_capacity(void **unused)
{
	(void)unused;
	for (int m = 0; m < HOT_METHOD_N; m++) {
		struct hot *h = hot_new((enum hot_method)m, 16);
		struct hot_value v[16];

		for (int i = 0; i < 1000; i++)
			assert_int_equal(
				hot_add(h, (uint64_t)(i % 10), 1 + (uint64_t)(i % 10 == 3)), 0);
		assert_true(hot_exact(h));
		assert_int_equal(hot_total(h), 1100);
		assert_int_equal(hot_top(h, v, 16), 10);
		assert_int_equal(v[0].value, 3);
		assert_true(v[0].count == 200 && v[0].low == 200 && v[0].high == 200);
		assert_int_equal(v[1].value, 0); /* ties: the smaller value first */
		hot_free(h);
	}
}

static void test_space_saving_bounds_are_certain(void **unused)
{
	(void)unused;
	for (int kind = 0; kind < 4; kind++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *h = fill(HOT_SPACE_SAVING, 16, kind, exact, STREAM);
		struct hot_value v[16];
		unsigned bad = 0, all = 0, n = hot_top(h, v, 16);

		count_violations(h, exact, &bad, &all);
		assert_int_equal(bad, 0);
		assert_true(hot_rest_bound(h) <= STREAM / 16.0);
		for (uint64_t x = 0; x < VALUES; x++) { /* every value above N/k is there */
			bool found = false;

			for (unsigned i = 0; i < n; i++)
				found |= v[i].value == x;
			if (!found)
				assert_true((double)exact[x] <= hot_rest_bound(h));
		}
		hot_free(h);
		free(exact);
	}
}

/* Streams that many values at once make hard: all different, rising, as many values as the list has room for and
 * one more, hot ones that come late or seldom, or turn by turn. */
static uint64_t hard_value_of(int kind, int i)
{
	switch (kind) {
	case 4:
		return (uint64_t)i * 7919 % VALUES;
	case 5:
		return (uint64_t)(i % VALUES);
	case 6:
		return (uint64_t)(i % 17);
	case 7:
		return i > STREAM / 2 ? (uint64_t)(i % 3) : (uint64_t)(i % VALUES);
	case 8:
		return i % 10 ? 1 + draw() % (VALUES - 1) : 0;
	case 9:
		return (uint64_t)(i / 16 % VALUES);
	case 10:
		return i % 300 < 20 ? 5 : (uint64_t)(i % VALUES);
	case 11:
		return 42;
	default:
		return value_of(kind, i);
	}
}
#define HARD 12

/* Values that batch.c's sieve does not tell apart. */
static uint64_t alike(uint64_t x)
{
	return x | x << 32;
}

static void test_many_at_once(void **unused)
{
	(void)unused;
	for (int round = 0; round < HARD * 10; round++) {
		static const unsigned sizes[] = { 1, 9, 64, 256, 1000 };
		bool all_alike = round / HARD % 2;
		uint64_t *exact = calloc(VALUES, sizeof(*exact)), batch[1000];
		struct hot *h = hot_new(HOT_SPACE_SAVING, 16);
		struct hot_value v[16];
		unsigned bad = 0, all = 0, distinct = 0, n;

		for (int i = 0; i < STREAM; i += (int)n) {
			n = 1 + (unsigned)draw() % sizes[round / HARD / 2];
			if (n > (unsigned)(STREAM - i))
				n = (unsigned)(STREAM - i);
			for (unsigned k = 0; k < n; k++) {
				batch[k] = hard_value_of(round % HARD, i + (int)k);
				exact[batch[k]]++;
				if (all_alike)
					batch[k] = alike(batch[k]);
			}
			assert_int_equal(hot_add_many(h, batch, n), 0);
		}
		assert_int_equal(hot_total(h), STREAM);
		count_violations(h, exact, &bad, &all);
		assert_int_equal(bad, 0);
		assert_true(hot_rest_bound(h) <= STREAM / 16.0);
		n = hot_top(h, v, 16);
		for (uint64_t x = 0; x < VALUES; x++) {
			bool found = false;

			distinct += exact[x] != 0;
			for (unsigned i = 0; i < n; i++) {
				bool same = v[i].value == (all_alike ? alike(x) : x);

				assert_false(found && same); /* each is there once */
				found |= same;
			}
			if (!found)
				assert_true((double)exact[x] <= hot_rest_bound(h));
		}
		assert_int_equal(hot_exact(h), distinct <= 16);
		hot_free(h);
		free(exact);
	}
}

/* A value that overtakes another one while the sieve counts, and shares a counter with one that is to enter. */
static void test_overtaken_in_the_sieve(void **unused)
{
	static const struct {
		uint64_t before, piece;
	} times[] = { { 1000, 64 }, { 100, 1 }, { 95, 100 }, { 90, 0 }, { 0, 91 } };
	struct hot *h = hot_new(HOT_SPACE_SAVING, 4);
	struct hot_value v[4];
	uint64_t piece[256];
	unsigned n = 0;

	(void)unused;
	for (unsigned i = 0; i < 5; i++) {
		if (times[i].before)
			assert_int_equal(hot_add(h, alike(i + 1), times[i].before), 0);
		for (unsigned k = 0; k < times[i].piece; k++)
			piece[n++] = alike(i + 1);
	}
	assert_int_equal(n, 256);
	assert_int_equal(hot_add_many(h, piece, n), 0);
	n = hot_top(h, v, 4);
	for (unsigned i = 0; i < n; i++) {
		uint64_t x = (uint32_t)v[i].value - 1, exact = times[x].before + times[x].piece;

		assert_true(v[i].low <= (double)exact && (double)exact <= v[i].high);
		for (unsigned k = 0; k < i; k++)
			assert_true(v[k].value != v[i].value);
	}
	hot_free(h);
}

/* Values and streams of a list, all of one capacity, moved by a constant. */
static void test_merge_of_sums(void **unused)
{
	(void)unused;
	for (int round = 0; round < 20; round++) {
		struct hot *a = hot_new(HOT_SPACE_SAVING, 16), *b = hot_new(HOT_SPACE_SAVING, 16);
		struct hot_value v[16], w[16];
		uint64_t add = draw();
		unsigned n;

		for (int i = 0; i < 5000; i++)
			assert_int_equal(hot_add(a, (uint32_t)(value_of(round % 4, i) - 2), 1), 0);
		assert_int_equal(hot_merge_sum(b, a, add, 32), 0);
		assert_int_equal(hot_total(b), 5000);
		n = hot_top(a, v, 16);
		assert_int_equal(hot_top(b, w, 16), n);
		for (unsigned i = 0; i < n; i++) {
			bool found = false;

			for (unsigned k = 0; k < n; k++)
				found |= w[k].value == (uint32_t)(v[i].value + add) &&
					 w[k].low == v[i].low && w[k].high == v[i].high;
			assert_true(found);
		}
		assert_true(hot_rest_bound(a) == hot_rest_bound(b));
		hot_free(a);
		hot_free(b);
	}
}

static void test_counting_bounds_hold_as_often_as_said(void **unused)
{
	unsigned bad = 0, all = 0;

	(void)unused;
	for (int round = 0; round < 40; round++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *h;

		hot_seed((uint64_t)round);
		h = fill(HOT_COUNTING, 16, round % 4, exact, STREAM / 4);
		if (!hot_exact(h))
			count_violations(h, exact, &bad, &all);
		hot_free(h);
		free(exact);
	}
	assert_true(all > 100);
	assert_true((double)bad <= 0.08 * all); /* 95 % */
}

static void test_counting_finds_hot_values(void **unused)
{
	uint64_t *exact = calloc(VALUES, sizeof(*exact));
	struct hot *h = fill(HOT_COUNTING, 16, 2, exact, STREAM);
	struct hot_value v[2];

	(void)unused;
	assert_int_equal(hot_top(h, v, 2), 2);
	assert_true(v[0].value >= VALUES - 2 && v[1].value >= VALUES - 2);
	assert_true(v[0].count > 0.30 * STREAM && v[0].count < 0.36 * STREAM);
	assert_true(hot_tau(h) > 1);
	hot_free(h);
	free(exact);
}

/* A stream in `parts` lists, merged; capacities differ if `unequal`. */
static struct hot *merged(enum hot_method m, int kind, int parts, bool unequal, uint64_t *exact)
{
	struct hot *all = fill(m, 16, kind, exact, STREAM / parts);

	for (int i = 1; i < parts; i++) {
		unsigned capacity = unequal ? 8 * (1 + (unsigned)i % 3) : 16;
		struct hot *h = fill(m, capacity, kind, exact, STREAM / parts);

		assert_int_equal(hot_merge(all, h), 0);
		hot_free(h);
	}
	assert_int_equal(hot_total(all), STREAM / parts * parts);
	return all;
}

static double most_outside(const struct hot *h, const uint64_t *exact)
{
	struct hot_value v[64];
	unsigned n = hot_top(h, v, 64);
	uint64_t most = 0;

	for (uint64_t x = 0; x < VALUES; x++) {
		bool held = false;

		for (unsigned i = 0; i < n; i++)
			held |= v[i].value == x;
		if (!held && exact[x] > most)
			most = exact[x];
	}
	return (double)most;
}

static void test_merged_space_saving_bounds_are_certain(void **unused)
{
	(void)unused;
	for (int round = 0; round < 24; round++) {
		static const int parts[] = { 2, 10, 50 };
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *h =
			merged(HOT_SPACE_SAVING, round % 4, parts[round % 3], round / 12, exact);
		unsigned bad = 0, all = 0;

		count_violations(h, exact, &bad, &all);
		assert_int_equal(bad, 0);
		assert_true(most_outside(h, exact) <= hot_rest_bound(h));
		for (uint64_t x = 0; x < VALUES; x += 7) /* and goes on as one */
			assert_int_equal(hot_add(h, x, 1 + 0 * exact[x]++), 0);
		count_violations(h, exact, &bad, &all);
		assert_int_equal(bad, 0);
		hot_free(h);
		free(exact);
	}
}

/* Both bounds, of the two hot values of a stream, one list or merged of many. */
static void test_counting_covers_hot_values(void **unused)
{
	static const int parts[] = { 1, 2, 10, 50 };

	(void)unused;
	for (int p = 0; p < 8; p++) {
		unsigned bad = 0, all = 0, outside = 0;

		for (int round = 0; round < 250; round++) {
			uint64_t *exact = calloc(VALUES, sizeof(*exact));
			struct hot_value v[2];
			struct hot *h;

			hot_seed((uint64_t)(1000 * p + round));
			h = merged(HOT_COUNTING, 2, parts[p / 2], p % 2, exact);
			assert_int_equal(hot_top(h, v, 2), 2);
			assert_false(hot_exact(h));
			for (int i = 0; i < 2; i++) {
				double is = (double)exact[v[i].value];

				assert_true(v[i].low <= is); /* certain */
				bad += is > v[i].high;
				all++;
			}
			outside += most_outside(h, exact) > hot_rest_bound(h);
			hot_free(h);
			free(exact);
		}
		/* 5 % of 500 with four standard deviations more; 5 % of 250 */
		assert_true(bad <= 25 + 20 && all == 500);
		assert_true(outside <= 13 + 14);
	}
}

/* The estimate's mean is the truth: of a hot value, in one list and in 20 merged ones. */
static void test_counting_estimate_is_unbiased(void **unused)
{
	(void)unused;
	for (int parts = 1; parts <= 20; parts += 19) {
		double sum = 0, square = 0, mean, deviation;
		int n = 400;

		for (int round = 0; round < n; round++) {
			uint64_t *exact = calloc(VALUES, sizeof(*exact));
			struct hot_value v[2];
			struct hot *h;
			double error;

			hot_seed((uint64_t)(parts * 1000 + round));
			h = merged(HOT_COUNTING, 2, parts, false, exact);
			hot_top(h, v, 2);
			/* by value, not by rank: the hotter estimate is the one that errs upward */
			error = v[v[1].value == VALUES - 1].count - (double)exact[VALUES - 1];
			sum += error;
			square += error * error;
			hot_free(h);
			free(exact);
		}
		mean = sum / n;
		deviation = sqrt((square / n - mean * mean) / n);
		assert_true(fabs(mean) < 4 * deviation);
		assert_true(deviation < 0.01 * STREAM / 3); /* or the line above says nothing */
	}
}

/* Lists that are still exact add no uncertainty. */
static void test_counting_merges_exact_lists_as_occurrences(void **unused)
{
	(void)unused;
	for (int order = 0; order < 2; order++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *a = fill(HOT_COUNTING, 16, 2, exact, STREAM), *sum = a;
		double tau = hot_tau(a);

		for (int i = 0; i < 50; i++) {
			struct hot *b = hot_new(HOT_COUNTING, 16);

			for (uint64_t v = VALUES - 9; v < VALUES; v++) {
				exact[v] += v;
				assert_int_equal(hot_add(b, v, v), 0);
			}
			assert_true(hot_exact(b));
			assert_int_equal(hot_merge(order ? b : sum, order ? sum : b), 0);
			hot_free(order ? sum : b);
			sum = order ? b : sum;
		}
		struct hot_value v[2];

		assert_int_equal(hot_top(sum, v, 2), 2);
		for (int i = 0; i < 2; i++) {
			assert_true(v[i].low <= (double)exact[v[i].value]);
			assert_true(v[i].high - v[i].low <= 3.1 * hot_tau(sum));
		}
		assert_true(hot_tau(sum) < 3 * tau);
		hot_free(sum);
		free(exact);
	}
}

static void test_merge_of_methods(void **unused)
{
	struct hot *a = hot_new(HOT_COUNTING, 16), *b = hot_new(HOT_SPACE_SAVING, 16);

	(void)unused;
	assert_int_equal(hot_merge(a, b), -1);
	assert_int_equal(hot_merge(b, a), -1);
	hot_free(a);
	hot_free(b);
}

/* tau rises past counts of any size in a moment. */
static void test_counting_of_great_counts(void **unused)
{
	struct hot *h = hot_new(HOT_COUNTING, 4);
	struct hot_value v[5];

	(void)unused;
	for (uint64_t i = 0; i < 200; i++)
		assert_int_equal(hot_add(h, i, 1ull << 50), 0);
	assert_int_equal(hot_total(h), 200 * (1ull << 50));
	assert_in_range(hot_top(h, v, 5), 1, 4);
	assert_true(v[0].low <= 0x1p50 && hot_tau(h) > 0x1p48);
	hot_free(h);
}

/* A list as columns. */
static struct columns encoded(const struct hot *h)
{
	struct columns c = { .n = HOT_COLUMNS };

	assert_true(hot_encode(h, HOT_ALL, c.of));
	return c;
}

static void cursors_of(const struct columns *c, struct cursor *column)
{
	for (unsigned i = 0; i < c->n; i++)
		column[i] = (struct cursor){ c->of[i].p,
					     c->of[i].n ? c->of[i].p + c->of[i].n : c->of[i].p };
}

/* The list that the columns hold, all of them; NULL: they hold none. */
static struct hot *decoded(const struct columns *c)
{
	struct cursor column[HOT_COLUMNS];
	struct hot *h;
	struct err err;

	cursors_of(c, column);
	h = hot_decode(column, &err);
	if (h)
		assert_true(columns_ended(column, HOT_COLUMNS));
	return h;
}

/* No columns of which one is shorter hold a list. */
static void assert_all_needed(const struct columns *c)
{
	struct err err;

	for (unsigned i = 0; i < c->n; i++)
		for (size_t cut = 0; cut < c->of[i].n; cut++) {
			struct cursor column[HOT_COLUMNS];

			cursors_of(c, column);
			column[i].end = column[i].p + cut;
			assert_null(hot_decode(column, &err));
		}
}

static void test_encoding(void **unused)
{
	(void)unused;
	for (int m = 0; m < HOT_METHOD_N; m++)
		for (int kind = 0; kind < 4; kind++) {
			uint64_t *exact = calloc(VALUES, sizeof(*exact));
			struct hot *h = fill((enum hot_method)m, 16, kind, exact, STREAM / 8), *g;
			struct columns c = encoded(h);
			struct hot_value v[16] = { 0 }, w[16] = { 0 };

			g = decoded(&c);
			assert_non_null(g);
			assert_int_equal(hot_total(g), hot_total(h));
			assert_int_equal(hot_top(g, w, 16), hot_top(h, v, 16));
			assert_true(hot_rest_bound(g) == hot_rest_bound(h) || m == HOT_COUNTING);
			for (int i = 0; i < 16; i++) {
				assert_int_equal(v[i].value, w[i].value);
				assert_true(v[i].low == w[i].low);
				assert_true(v[i].high == w[i].high || m == HOT_COUNTING);
			}
			assert_all_needed(&c);
			hot_free(g);
			hot_free(h);
			columns_fini(&c);
			free(exact);
		}
}

/* Of a list without noise all bounds hold, the hottest value is the same, and what is left out is less than a quarter of the
 * rest. */
static void test_encoding_without_noise(void **unused)
{
	unsigned left_out = 0;

	(void)unused;
	for (int kind = 0; kind < 4; kind++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *h = fill(HOT_SPACE_SAVING, 16, kind, exact, STREAM / 8), *g;
		struct columns c = { .n = HOT_COLUMNS };
		struct hot_value v[16], w[16];
		unsigned bad = 0, all = 0, n = hot_top(h, v, 16), kept;

		assert_true(hot_encode(h, HOT_HOT, c.of));
		g = decoded(&c);
		assert_non_null(g);
		kept = hot_top(g, w, 16);
		count_violations(g, exact, &bad, &all);
		assert_int_equal(bad, 0);
		assert_in_range(kept, 1, n);
		assert_int_equal(hot_total(g), hot_total(h));
		for (unsigned i = 0; i < n; i++) {
			assert_true(i < kept ? v[i].value == w[i].value && v[i].low == w[i].low
					     : v[i].low <= hot_rest_bound(h) / 4);
			assert_true(i < kept || (double)exact[v[i].value] <= hot_rest_bound(g));
		}
		left_out += n - kept;
		hot_free(g);
		hot_free(h);
		columns_fini(&c);
		free(exact);
	}
	assert_true(left_out > 0);
}

/* Lists of one column each, one behind the other. */
static void test_encoding_of_several(void **unused)
{
	struct hot *h[3], *g;
	struct columns c = { .n = HOT_COLUMNS };
	struct cursor column[HOT_COLUMNS];
	struct hot_value v;
	struct err err;

	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		h[i] = hot_new(i == 1 ? HOT_COUNTING : HOT_SPACE_SAVING, 100);
		for (uint64_t k = 0; k < i * 70;
		     k++) /* none, few, and more than are sorted on the stack */
			assert_int_equal(hot_add_weighted(h[i], UINT64_MAX - k, 1), 0);
		assert_int_equal(hot_add(h[i], i, 3), 0);
		assert_true(hot_encode(h[i], HOT_ALL, c.of));
	}
	cursors_of(&c, column);
	for (unsigned i = 0; i < 3; i++) {
		g = hot_decode(column, &err);
		assert_non_null(g);
		assert_int_equal(hot_distinct(g), i * 70 > 100 ? 100 : i * 70 + 1);
		assert_int_equal(hot_top(g, &v, 1), 1);
		assert_true(v.value == i && v.low == 3);
		hot_free(g);
		hot_free(h[i]);
	}
	assert_true(columns_ended(column, HOT_COLUMNS));
	columns_fini(&c);
}

static void test_encoding_of_merged(void **unused)
{
	(void)unused;
	for (int m = 0; m < HOT_METHOD_N; m++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *h = merged((enum hot_method)m, 2, 20, true, exact), *g;
		struct columns c = encoded(h);
		struct hot_value v[16] = { 0 }, w[16] = { 0 };

		g = decoded(&c);
		assert_non_null(g);
		assert_int_equal(hot_top(g, w, 16), hot_top(h, v, 16));
		for (int i = 0; i < 16; i++) { /* tau is kept to 1/65536 */
			assert_int_equal(v[i].value, w[i].value);
			assert_true(v[i].low == w[i].low);
			assert_true(fabs(v[i].count - w[i].count) < 0.01);
			assert_true(fabs(v[i].high - w[i].high) <= 1);
		}
		hot_free(g);
		hot_free(h);
		columns_fini(&c);
		free(exact);
	}
}

/* A list that is made of counts tells what one does that met these values. */
static void test_counted(void **unused)
{
	static const uint64_t value[] = { 9, 4, 7 }, count[] = { 5, 2, 70000 };
	struct hot *h = hot_counted(4, 70009, 2, value, count, 3);
	struct hot_value v[4];

	(void)unused;
	assert_non_null(h);
	assert_int_equal(hot_total(h), 70009);
	assert_int_equal(hot_top(h, v, 4), 3);
	assert_true(v[0].value == 7 && v[0].low == 70000 && v[0].high == 70000);
	assert_true(v[1].value == 9 && v[2].value == 4);
	assert_true(hot_rest_bound(h) == 2 && !hot_exact(h));
	hot_free(h);
}

static void test_decoding_rejects(void **unused)
{
	static const struct {
		const char *what;
		struct {
			uint8_t n, p[16];
		} column[HOT_COLUMNS];
	} lists[] = {
		/* form and capacity, total, entries, rest, values, certain counts, errors, weights */
		{ "no method", { { 2, { 3, 16 } }, { 1, { 5 } }, { 1, { 0 } }, { 1, { 0 } } } },
		{ "no weights", { { 2, { 4, 16 } }, { 1, { 5 } }, { 1, { 0 } }, { 1, { 0 } } } },
		{ "no capacity", { { 2, { 0, 0 } }, { 1, { 5 } }, { 1, { 0 } }, { 1, { 0 } } } },
		{ "more entries than capacity",
		  { { 2, { 1, 1 } },
		    { 1, { 5 } },
		    { 1, { 2 } },
		    { 1, { 0 } },
		    { 2, { 1, 1 } },
		    { 2, { 1, 1 } } } },
		{ "a value twice",
		  { { 2, { 1, 4 } },
		    { 1, { 5 } },
		    { 1, { 2 } },
		    { 1, { 0 } },
		    { 2, { 1, 0 } },
		    { 2, { 1, 1 } } } },
		{ "a value above all",
		  { { 2, { 1, 4 } },
		    { 1, { 5 } },
		    { 1, { 2 } },
		    { 1, { 0 } },
		    { 11, { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 } },
		    { 2, { 1, 1 } } } },
		{ "an entry of nothing",
		  { { 2, { 1, 4 } },
		    { 1, { 5 } },
		    { 1, { 1 } },
		    { 1, { 0 } },
		    { 1, { 1 } },
		    { 1, { 0 } } } },
		{ "more than the total",
		  { { 2, { 1, 4 } },
		    { 1, { 5 } },
		    { 1, { 2 } },
		    { 1, { 0 } },
		    { 2, { 1, 1 } },
		    { 2, { 3, 3 } } } },
		{ "an error below 0", /* 1 - 2 */
		  { { 2, { 0, 4 } },
		    { 1, { 5 } },
		    { 1, { 1 } },
		    { 1, { 1 } },
		    { 1, { 7 } },
		    { 1, { 3 } },
		    { 1, { 4 } } } },
		{ "count below the rest", /* an entry that occurred once or twice, while others may have 5 times */
		  { { 2, { 0, 4 } },
		    { 1, { 5 } },
		    { 1, { 1 } },
		    { 1, { 3 } },
		    { 1, { 7 } },
		    { 1, { 1 } },
		    { 1, { 4 } } } },
		{ "of no streams",
		  { { 2, { 2, 4 } }, { 1, { 5 } }, { 1, { 0 } }, { 2, { 0, 0 } } } },
		{ "a tau that is 2^62",
		  { { 2, { 1, 4 } },
		    { 1, { 5 } },
		    { 1, { 0 } },
		    { 9, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f } } } },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct cursor column[HOT_COLUMNS];
		struct err err;

		for (unsigned k = 0; k < HOT_COLUMNS; k++)
			column[k] = (struct cursor){ lists[i].column[k].p,
						     lists[i].column[k].p + lists[i].column[k].n };
		if (hot_decode(column, &err))
			fail_msg("accepted: %s", lists[i].what);
	}
}

/* Weights against sums that are kept exactly: certain ones are no more, bounds hold, merging adds. */
static void test_weights(void **unused)
{
	(void)unused;
	for (int method = 0; method < HOT_METHOD_N; method++) {
		struct hot *h[3];
		double sum[64] = { 0 }, total = 0;
		struct hot_value v[64];
		unsigned n;

		for (int i = 0; i < 3; i++)
			h[i] = hot_new((enum hot_method)method, method == HOT_COUNTING ? 64 : 16);
		for (int i = 0; i < 30000; i++) {
			uint64_t value = draw() % 4 ? draw() % 5 : draw() % 64;
			double weight = value % 2 ? 0.25 : 1.25;

			/* one of the lists has no weights: 1 each */
			if (i % 3 == 2)
				assert_int_equal(hot_add(h[2], value, 1), 0);
			else
				assert_int_equal(hot_add_weighted(h[i % 3], value, weight), 0);
			sum[value] += i % 3 == 2 ? 1 : weight;
			total += i % 3 == 2 ? 1 : weight;
		}
		assert_int_equal(hot_merge(h[0], h[2]), 0);
		assert_int_equal(hot_merge(h[0], h[1]), 0);
		assert_true(fabs(hot_weight(h[0]) - total) < 1e-6 * total);
		n = hot_top(h[0], v, 64);
		assert_true(n >= 16);
		for (unsigned i = 0; i < n; i++) {
			double exact = sum[v[i].value];

			assert_true(v[i].weight_low <= exact + 1e-6);
			assert_true(v[i].weight_high >= exact - 1e-6);
			if (i < 5)
				assert_true(fabs(v[i].weight - exact) < 0.02 * total);
		}
		for (int i = 0; i < 3; i++)
			hot_free(h[i]);
	}
}

static void test_weights_encoded(void **unused)
{
	struct hot *h = hot_new(HOT_SPACE_SAVING, 4), *back;
	struct hot_value v[4], w[4];
	struct columns c;

	(void)unused;
	for (int i = 0; i < 1000; i++)
		hot_add_weighted(h, draw() % 6, 0.5);
	c = encoded(h);
	assert_all_needed(&c);
	back = decoded(&c);
	assert_non_null(back);
	assert_true(hot_weight(back) == 500);
	assert_int_equal(hot_top(h, v, 4), 4);
	assert_int_equal(hot_top(back, w, 4), 4);
	for (int i = 0; i < 4; i++)
		assert_true(v[i].value == w[i].value && v[i].weight == w[i].weight);
	hot_free(back);
	/* more than so many occurrences can weigh */
	c.of[HOT_WEIGHTS].p[1] = 0xff;
	c.of[HOT_WEIGHTS].p[2] = 0x7f;
	assert_null(decoded(&c));
	hot_free(h);
	columns_fini(&c);
}

/* A list whose least entry is just as frequent as a value outside may be: scaled, both are rounded, and the list is still one. */
static void test_scaled(void **unused)
{
	struct hot *h = hot_new(HOT_SPACE_SAVING, 2), *back;
	struct hot_value v[2];
	struct columns c;

	(void)unused;
	assert_int_equal(hot_add(h, 1, 3), 0);
	assert_int_equal(hot_add(h, 2, 3), 0);
	assert_int_equal(hot_add(h, 3, 1), 0); /* takes the place of one of them */
	assert_int_equal(hot_scale(h, 1.5), 0);
	assert_int_equal(hot_total(h), 11);
	assert_int_equal(hot_top(h, v, 2), 2);
	for (int i = 0; i < 2; i++) {
		double truth = v[i].value == 3 ? 1.5 : 4.5;

		assert_true(v[i].low <= truth && v[i].high >= floor(truth));
	}
	assert_true(hot_rest_bound(h) >= 4.5);
	c = encoded(h);
	back = decoded(&c);
	assert_non_null(back);
	hot_free(h);
	hot_free(back);
	columns_fini(&c);
}

/* Adds the stream to a list whose entries are brief at first, and to one whose entries never are. */
static void assert_brief_is_wide(int kind, unsigned capacity, int n)
{
	struct hot *brief = hot_new(HOT_SPACE_SAVING, capacity);
	struct hot *wide = hot_new(HOT_SPACE_SAVING, capacity);
	struct hot_value v[2][64];
	unsigned k;

	assert_true(hot_widen(wide));
	for (int i = 0; i < n; i++) {
		uint64_t x = value_of(kind, i);
		double weight = (double)(1 + i % 7) / 8;

		assert_int_equal(hot_add_weighted(brief, x, weight), 0);
		assert_int_equal(hot_add_weighted(wide, x, weight), 0);
	}
	k = hot_top(brief, v[0], 64);
	assert_int_equal(hot_top(wide, v[1], 64), k);
	assert_true(hot_rest_bound(brief) == hot_rest_bound(wide));
	for (unsigned i = 0; i < k; i++) {
		assert_int_equal(v[0][i].value, v[1][i].value);
		assert_true(v[0][i].count == v[1][i].count && v[0][i].low == v[1][i].low &&
			    v[0][i].high == v[1][i].high);
		assert_true(fabs(v[0][i].weight - v[1][i].weight) <= 2e-4 * v[1][i].weight);
	}
	hot_free(brief);
	hot_free(wide);
}

static void test_brief_entries(void **unused)
{
	static const int length[] = { 1, 2, 3, 10, 100, 4000, STREAM };

	(void)unused;
	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++)
			for (unsigned capacity = 1; capacity <= 64; capacity *= 4)
				assert_brief_is_wide(kind, capacity, length[i]);
}

/* Lists of `n` values each, brief or wide, merged with `add` added to the values of the second one, and scaled. */
static struct hot *sum_of_lists(bool wide, int kind, int n, uint64_t add)
{
	struct hot *h[2];

	state = 7;
	for (int i = 0; i < 2; i++) {
		h[i] = hot_new(HOT_SPACE_SAVING, 16);
		assert_true(h[i] && (!wide || hot_widen(h[i])));
		for (int k = 0; k < n; k++)
			assert_int_equal(hot_add(h[i], value_of(kind, k), 1), 0);
	}
	assert_int_equal(hot_merge_sum(h[0], h[1], add, 64), 0);
	assert_int_equal(hot_scale(h[0], 2.5), 0);
	hot_free(h[1]);
	return h[0];
}

/* Brief lists are merged and scaled as wide ones are, and stay brief where counts allow it. */
static void test_brief_sums(void **unused)
{
	static const int length[] = { 0, 1, 10, 100, STREAM };

	(void)unused;
	for (int i = 0; i < 5 * 4 * 2; i++) {
		int n = length[i % 5], kind = i / 5 % 4;
		struct hot *brief = sum_of_lists(false, kind, n, i / 20 * 5ull);
		struct hot *wide = sum_of_lists(true, kind, n, i / 20 * 5ull);
		struct columns a = encoded(brief), b = encoded(wide);

		for (unsigned k = 0; k < HOT_COLUMNS; k++) {
			assert_int_equal(a.of[k].n, b.of[k].n);
			if (a.of[k].n)
				assert_memory_equal(a.of[k].p, b.of[k].p, a.of[k].n);
		}
		columns_fini(&a);
		columns_fini(&b);
		assert_true(wide->wide && brief->wide == (n == STREAM));
		hot_free(brief);
		hot_free(wide);
	}
}

static struct hot *stored(const struct hot *h)
{
	struct columns c = { .n = HOT_COLUMNS };
	struct hot *g;

	assert_true(hot_encode(h, HOT_ALL, c.of));
	g = decoded(&c);
	assert_non_null(g);
	columns_fini(&c);
	return g;
}

/* A list of one entry holds it in itself until the bound for other values is not 0. */
static void test_single_entries(void **unused)
{
	struct hot *one = hot_new(HOT_SPACE_SAVING, 1), *held = hot_new(HOT_SPACE_SAVING, 16), *g;
	struct hot_value v[2];

	(void)unused;
	assert_true(one && held);
	assert_int_equal(hot_add(one, 7, 3) | hot_add(held, 9, 5), 0);
	assert_true(hot_holds_only(one) && hot_holds_only(held));
	assert_true(hot_exact(one) && hot_rest_bound(one) == 0);
	assert_int_equal(hot_add(one, 8, 1), 0);
	assert_false(hot_holds_only(one) || hot_exact(one));
	g = stored(one);
	for (struct hot *h = one; h; h = h == one ? g : NULL) {
		assert_int_equal(hot_top(h, v, 2), 1);
		assert_true(v[0].value == 8 && v[0].low == 1 && v[0].high == 4);
		assert_true(hot_total(h) == 4 && hot_rest_bound(h) == 3);
	}
	hot_free(g);
	g = stored(held);
	assert_true(hot_holds_only(g) && hot_total(g) == 5);
	assert_int_equal(hot_merge(held, one), 0);
	assert_false(hot_holds_only(held));
	assert_int_equal(hot_top(held, v, 2), 2);
	assert_true(v[0].value == 9 && v[0].low == 5 && v[0].high == 8);
	assert_true(v[1].value == 8 && v[1].low == 1 && v[1].high == 4);
	assert_true(hot_rest_bound(held) == 3);
	hot_free(g);
	hot_free(one);
	hot_free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_below_capacity),
		cmocka_unit_test(test_space_saving_bounds_are_certain),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_overtaken_in_the_sieve),
		cmocka_unit_test(test_merge_of_sums),
		cmocka_unit_test(test_counting_bounds_hold_as_often_as_said),
		cmocka_unit_test(test_counting_finds_hot_values),
		cmocka_unit_test(test_merged_space_saving_bounds_are_certain),
		cmocka_unit_test(test_counting_covers_hot_values),
		cmocka_unit_test(test_counting_estimate_is_unbiased),
		cmocka_unit_test(test_counting_merges_exact_lists_as_occurrences),
		cmocka_unit_test(test_merge_of_methods),
		cmocka_unit_test(test_counting_of_great_counts),
		cmocka_unit_test(test_encoding),
		cmocka_unit_test(test_encoding_of_merged),
		cmocka_unit_test(test_decoding_rejects),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_weights_encoded),
		cmocka_unit_test(test_encoding_without_noise),
		cmocka_unit_test(test_encoding_of_several),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_scaled),
		cmocka_unit_test(test_brief_entries),
		cmocka_unit_test(test_brief_sums),
		cmocka_unit_test(test_single_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
