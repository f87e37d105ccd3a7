/* SPDX-License-Identifier: MIT */
/* Hot lists against exact counts, on streams of several kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sketch/hot.h"

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
		double is = (double)exact[v[i].value];

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

static void test_counting_bounds_hold_as_often_as_said(void **unused)
{
	unsigned bad = 0, all = 0;

	(void)unused;
	for (int round = 0; round < 40; round++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *h = fill(HOT_COUNTING, 16, round % 4, exact, STREAM / 4);

		hot_seed((uint64_t)round);
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

static void test_merge(void **unused)
{
	(void)unused;
	for (int kind = 0; kind < 4; kind++) {
		uint64_t *exact = calloc(VALUES, sizeof(*exact));
		struct hot *a = fill(HOT_SPACE_SAVING, 16, kind, exact, STREAM / 2);
		struct hot *b = fill(HOT_SPACE_SAVING, 12, (kind + 1) % 4, exact, STREAM / 2);
		unsigned bad = 0, all = 0;

		assert_int_equal(hot_merge(a, b), 0);
		assert_int_equal(hot_total(a), STREAM);
		count_violations(a, exact, &bad, &all);
		assert_int_equal(bad, 0);
		for (uint64_t x = 0; x < VALUES; x += 7) /* and goes on as one */
			assert_int_equal(hot_add(a, x, 1 + 0 * exact[x]++), 0);
		bad = 0;
		count_violations(a, exact, &bad, &all);
		assert_int_equal(bad, 0);
		hot_free(a);
		hot_free(b);
		free(exact);
	}
}

static void test_merge_of_counting(void **unused)
{
	uint64_t *exact = calloc(VALUES, sizeof(*exact));
	struct hot *a = fill(HOT_COUNTING, 16, 2, exact, STREAM / 2);
	struct hot *b = fill(HOT_COUNTING, 16, 2, exact, STREAM / 2);
	struct hot *other = hot_new(HOT_SPACE_SAVING, 16);
	struct hot_value v[2];

	(void)unused;
	assert_int_equal(hot_merge(a, other), -1);
	assert_int_equal(hot_merge(a, b), 0);
	assert_int_equal(hot_top(a, v, 2), 2);
	assert_true(v[1].value >= VALUES - 2 && v[1].count > 0.29 * STREAM);
	hot_free(a);
	hot_free(b);
	hot_free(other);
	free(exact);
}

static void test_encoding(void **unused)
{
	struct err err;

	(void)unused;
	for (int m = 0; m < HOT_METHOD_N; m++)
		for (int kind = 0; kind < 4; kind++) {
			uint64_t *exact = calloc(VALUES, sizeof(*exact));
			struct hot *h = fill((enum hot_method)m, 16, kind, exact, STREAM / 8), *g;
			uint8_t *p = malloc(hot_encoded_max(h));
			size_t n = hot_encode(h, p), used;
			struct hot_value v[16], w[16];

			assert_true(n <= hot_encoded_max(h));
			g = hot_decode(p, n, &used, &err);
			assert_non_null(g);
			assert_int_equal(used, n);
			assert_int_equal(hot_total(g), hot_total(h));
			assert_int_equal(hot_top(g, w, 16), hot_top(h, v, 16));
			assert_memory_equal(&v[0].value, &w[0].value, sizeof(v[0].value));
			hot_free(g);
			for (size_t cut = 0; cut < n; cut++) { /* no prefix is a list */
				g = hot_decode(p, cut, &used, &err);
				assert_null(g);
			}
			hot_free(h);
			free(p);
			free(exact);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_below_capacity),
		cmocka_unit_test(test_space_saving_bounds_are_certain),
		cmocka_unit_test(test_counting_bounds_hold_as_often_as_said),
		cmocka_unit_test(test_counting_finds_hot_values),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_of_counting),
		cmocka_unit_test(test_encoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
