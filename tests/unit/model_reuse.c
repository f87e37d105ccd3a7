/* SPDX-License-Identifier: MIT */
/* Reuse distances against an LRU stack that is searched, and against fully associative caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/cache.h"
#include "model/reuse.h"
#include "observe/distances.h"

#define TRACE 1000000
#define CACHES 9

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static uint64_t trace[TRACE], distance[TRACE];

/* The stack itself: the line touched last first. */
static void brute_force(uint64_t *to)
{
	uint64_t *stack = malloc(TRACE * sizeof(*stack));
	size_t n = 0;

	assert_non_null(stack);
	for (size_t i = 0; i < TRACE; i++) {
		size_t at = 0;

		while (at < n && stack[at] != trace[i])
			at++;
		to[i] = at < n ? at : REUSE_COLD;
		n += at == n;
		memmove(stack + 1, stack, at * sizeof(*stack));
		stack[0] = trace[i];
	}
	free(stack);
}

static void check(void)
{
	uint64_t *want = malloc(TRACE * sizeof(*want)), cold = 0;
	struct reuse *r = reuse_new();

	assert_non_null(want);
	assert_non_null(r);
	brute_force(want);
	for (size_t i = 0; i < TRACE; i++) {
		distance[i] = reuse_touch(r, trace[i]);
		if (distance[i] != want[i])
			fail_msg("touch %zu: %llu, not %llu", i, (unsigned long long)distance[i],
				 (unsigned long long)want[i]);
		cold += distance[i] == REUSE_COLD;
	}
	assert_int_equal(reuse_lines(r), cold);
	assert_true(reuse_memory(r) <= 64 * cold + 65536);
	reuse_free(r);
	free(want);
}

/* A cache of n lines hits where the distance is less than n. */
static void check_caches(void)
{
	static const uint32_t size[CACHES] = { 1, 2, 7, 31, 32, 33, 64, 500, 2000 };

	for (unsigned k = 0; k < CACHES; k++) {
		struct cache c;

		assert_int_equal(cache_init(&c, (struct cache_geometry){ 1, size[k] }, CACHE_LRU),
				 0);
		for (size_t i = 0; i < TRACE / 4; i++)
			assert_int_equal(cache_touch(&c, trace[i]), distance[i] < size[k]);
		cache_fini(&c);
	}
}

static void test_random(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++)
		trace[i] = draw() % 1200;
	check();
	check_caches();
}

static void test_strides(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++)
		trace[i] = (i / 100000 * 3 + 1) * i % (100 + i / 1000);
	check();
	check_caches();
}

/* Many lines, most of them seldom: 1 / rank. */
static void test_zipf(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++) {
		uint64_t span = 1ull << draw() % 13;

		trace[i] = (span + draw() % span) * 0x10001;
	}
	check();
	check_caches();
}

/* A long scan over and over: each distance is its length less one; times are numbered anew often. */
static void test_scan(void **unused)
{
	enum {
		LINES = 300000
	};
	struct reuse *r = reuse_new();

	(void)unused;
	assert_non_null(r);
	for (unsigned round = 0; round < 4; round++)
		for (uint64_t i = 0; i < LINES; i++)
			assert_int_equal(reuse_touch(r, i << 40 | i),
					 round ? LINES - 1 : REUSE_COLD);
	assert_int_equal(reuse_lines(r), LINES);
	reuse_free(r);
}

static void test_buckets(void **unused)
{
	(void)unused;
	for (unsigned b = 0; b < DISTANCE_BUCKETS; b++) {
		assert_int_equal(distance_bucket(distance_of_bucket(b)), b);
		if (b)
			assert_int_equal(distance_bucket(distance_of_bucket(b) - 1), b - 1);
	}
	for (unsigned o = 0; o < DISTANCE_OCTAVES; o++) {
		assert_int_equal(distance_octave(distance_of_octave(o)), o);
		if (o)
			assert_int_equal(distance_octave(distance_of_octave(o) - 1), o - 1);
	}
	assert_int_equal(distance_bucket((1ull << DISTANCE_BITS) - 1), DISTANCE_BUCKETS - 1);
	assert_int_equal(distance_octave((1ull << DISTANCE_BITS) - 1), DISTANCE_OCTAVES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	cmocka_unit_test(test_strides),
		cmocka_unit_test(test_zipf),	cmocka_unit_test(test_scan),
		cmocka_unit_test(test_buckets),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
