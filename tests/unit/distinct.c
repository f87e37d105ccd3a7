/* SPDX-License-Identifier: MIT */
/* How many different values a stream has: the sketch, of one stream and of several. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sketch/distinct.h"

static bool is_about(double a, double b, double part)
{
	return fabs(a - b) <= part * b;
}

static struct distinct sketch_of(uint64_t from, uint64_t n, uint64_t apart)
{
	struct distinct d = { { 0 } };

	for (uint64_t i = 0; i < n; i++)
		distinct_add(&d, (from + i) * apart);
	return d;
}

static void counts_are_right_within_three_errors(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 1 << 20; n *= 4)
		for (uint64_t apart = 1; apart <= 4096; apart *= 64) {
			struct distinct d = sketch_of(7, n, apart);

			assert_true(is_about(distinct_count(&d), (double)n, 3 * 0.13));
		}
}

static void what_comes_again_does_not_count(void **state)
{
	struct distinct d = sketch_of(0, 1000, 1), again = d;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		distinct_add(&again, i % 1000);
	assert_memory_equal(&d, &again, sizeof(d));
}

static void streams_together_are_as_one(void **state)
{
	struct distinct a = sketch_of(0, 3000, 1), all = sketch_of(0, 5000, 1);
	const struct distinct b = sketch_of(2000, 3000, 1);

	(void)state;
	distinct_merge(&a, &b);
	assert_memory_equal(&a, &all, sizeof(all));
}

/* 4096 values, drawn in an order that has hardly to do with them: by 1,000 draws a part is seen, by 100,000 all. */
static void what_values_are_drawn_from(void **state)
{
	struct distinct d = { { 0 } };
	uint64_t x = 1;

	(void)state;
	for (unsigned i = 1; i <= 100000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		distinct_add(&d, x >> 52);
		if (i == 50)
			assert_true(isinf(distinct_drawn_from(&d, i)));
		if (i == 8192 || i == 100000)
			assert_true(is_about(distinct_drawn_from(&d, i), 4096, 0.5));
	}
	/* new each time: nothing tells how many there are */
	d = sketch_of(0, 100000, 1);
	assert_true(isinf(distinct_drawn_from(&d, 100000)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_right_within_three_errors),
		cmocka_unit_test(what_comes_again_does_not_count),
		cmocka_unit_test(streams_together_are_as_one),
		cmocka_unit_test(what_values_are_drawn_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
