/* SPDX-License-Identifier: MIT */
/* The small containers and searches of base/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/search.h"

/* Every array of up to eight numbers below eight that rise, and every number: a scan from the left is the oracle. */
static void search_finds_what_a_scan_finds(void **state)
{
	(void)state;
	for (uint32_t has = 0; has < 1u << 8; has++) {
		unsigned v[8], n = 0;

		for (unsigned i = 0; i < 8; i++)
			if (has >> i & 1)
				v[n++] = i;
		for (unsigned at = 0; at < 9; at++) {
			unsigned scan = 0;

			while (scan < n && v[scan] < at)
				scan++;
			assert_int_equal(search_first(k, 0, n, v[k] >= at), scan);
		}
	}
}

static void search_begins_where_it_is_told(void **state)
{
	const int v[] = { 5, 6, 7, 8 };

	(void)state;
	assert_int_equal(search_first(i, 2, 4, v[i] >= 5), 2);
	assert_int_equal(search_first(i, 2, 4, v[i] >= 8), 3);
	assert_int_equal(search_first(i, 2, 4, v[i] >= 9), 4);
	assert_int_equal(search_first(i, 3, 3, v[i] >= 0), 3);
}

static void reserved_arrays_keep_their_elements(void **state)
{
	uint32_t *v = NULL, cap = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(array_reserve(v, cap, i + 1));
		assert_true(cap > i);
		v[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(v[i], i);
	assert_true(array_reserve(v, cap, 5000));
	assert_true(cap >= 5000);
	assert_int_equal(v[999], 999);
	free(v);
}

static void an_array_does_not_outgrow_the_type_of_its_capacity(void **state)
{
	uint8_t *v = NULL, cap = 0;

	(void)state;
	assert_true(array_reserve(v, cap, 200));
	v[199] = 7;
	assert_true(array_reserve(v, cap, 255));
	assert_int_equal(cap, 255);
	assert_false(array_reserve(v, cap, 256));
	assert_int_equal(v[199], 7);
	assert_int_equal(cap, 255);
	free(v);
}

static void a_failed_growth_leaves_the_array(void **state)
{
	uint64_t *v = NULL, *w;
	size_t cap = 0;

	(void)state;
	assert_true(array_reserve(v, cap, 4));
	w = v;
	v[3] = 3;
	assert_false(array_reserve(v, cap, SIZE_MAX / 4));
	assert_ptr_equal(v, w);
	assert_int_equal(v[3], 3);
	free(v);
}

static void arrays_grow_one_by_one_without_a_stored_capacity(void **state)
{
	size_t *v = NULL, n = 0;

	(void)state;
	for (; n < 1000; n++) {
		assert_true(array_one_more(v, n));
		v[n] = n;
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i], i);
	free(v);
}

static void widened_arrays_are_zero_where_they_are_new(void **state)
{
	uint32_t *v = NULL, n = 0;

	(void)state;
	assert_true(array_widen(v, n, 3));
	assert_int_equal(n, 3);
	v[0] = v[1] = v[2] = 9;
	assert_true(array_widen(v, n, 2)); /* never narrower */
	assert_int_equal(n, 3);
	assert_true(array_widen(v, n, 600));
	assert_int_equal(n, 600);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(v[i], i < 3 ? 9 : 0);
	free(v);
}

/* The published test vectors of FNV-1a, 64 bits. */
static void bytes_hash_as_published(void **state)
{
	(void)state;
	assert_true(hash_bytes(HASH_BASIS, "", 0) == 0xcbf29ce484222325ull);
	assert_true(hash_bytes(HASH_BASIS, "a", 1) == 0xaf63dc4c8601ec8cull);
	assert_true(hash_bytes(HASH_BASIS, "foobar", 6) == 0x85944171f73967e8ull);
	assert_true(hash_bytes(hash_bytes(HASH_BASIS, "foo", 3), "bar", 3) ==
		    0x85944171f73967e8ull);
}

/* Addresses of neighbouring lines and pages spread over a table: no slot of 1024 gets more than five of 1024. */
static void addresses_spread(void **state)
{
	(void)state;
	for (uint64_t step = 1; step <= 1u << 21; step *= 2) {
		uint8_t met[1024] = { 0 };

		for (uint64_t i = 0; i < 1024; i++)
			assert_true(++met[hash_bits(0x7f0000000000 + i * step, 10)] <= 5);
	}
}

static void the_clock_counts_nanoseconds(void **state)
{
	struct timespec t;
	uint64_t before = clock_ns(CLOCK_MONOTONIC), after;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &t);
	after = clock_ns(CLOCK_MONOTONIC);
	assert_true(before / 1000000000 <= (uint64_t)t.tv_sec);
	assert_true(after / 1000000000 >= (uint64_t)t.tv_sec);
	assert_true(after >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search_finds_what_a_scan_finds),
		cmocka_unit_test(search_begins_where_it_is_told),
		cmocka_unit_test(reserved_arrays_keep_their_elements),
		cmocka_unit_test(an_array_does_not_outgrow_the_type_of_its_capacity),
		cmocka_unit_test(a_failed_growth_leaves_the_array),
		cmocka_unit_test(arrays_grow_one_by_one_without_a_stored_capacity),
		cmocka_unit_test(widened_arrays_are_zero_where_they_are_new),
		cmocka_unit_test(bytes_hash_as_published),
		cmocka_unit_test(addresses_spread),
		cmocka_unit_test(the_clock_counts_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
