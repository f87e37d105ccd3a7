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

/*
 * Of many streams the mean is right, and the spread is the method's: 1.04 / sqrt(64), and where registers are still empty
 * that of linear counting, sqrt(64 (exp(t) - t - 1)) / (64 t) with t = n / 64 (Whang, Vander-Zanden and Taylor, 1990).
 */
static void errors_are_those_of_the_method(void **state)
{
	static const struct {
		uint64_t n;
		double spread;
	} of[] = { { 30, 0.096 }, { 2000, 0.13 }, { 50000, 0.13 } };
	const int streams = 400;

	(void)state;
	for (unsigned k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
		double sum = 0, square = 0;

		for (uint64_t i = 0; i < (uint64_t)streams; i++) {
			struct distinct d = sketch_of(i << 32, of[k].n, 1);
			double error = distinct_count(&d) / (double)of[k].n - 1;

			sum += error;
			square += error * error;
		}
		assert_true(fabs(sum / streams) < 3 * of[k].spread / sqrt(streams));
		assert_true(is_about(sqrt(square / streams), of[k].spread, 0.15));
	}
}

static uint64_t next(uint64_t *x)
{
	*x = *x * 6364136223846793005ull + 1442695040888963407ull;
	return *x >> 52;
}

/*
 * 4096 values, drawn in orders that have hardly to do with them. Of n draws of N values the share that is new changes with N
 * less than the number itself does: with x = n / N by (1 - exp(-x) - x exp(-x)) / (1 - exp(-x)), so errors are larger by that.
 */
static void what_values_are_drawn_from(void **state)
{
	static const struct {
		unsigned draws;
		double spread;
	} of[] = { { 8192, 0.13 * 1.456 }, { 100000, 0.13 } };
	const int streams = 100;
	struct distinct d;

	(void)state;
	for (unsigned k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
		double sum = 0, square = 0;

		for (int i = 0; i < streams; i++) {
			uint64_t x = (uint64_t)i << 40, move = (uint64_t)i << 20;
			double error;

			d = (struct distinct){ { 0 } };
			for (unsigned n = 0; n < of[k].draws; n++)
				distinct_add(&d, move + next(&x));
			error = distinct_drawn_from(&d, of[k].draws) / 4096 - 1;
			sum += error;
			square += error * error;
		}
		assert_true(fabs(sum / streams) < 3 * of[k].spread / sqrt(streams));
		assert_true(is_about(sqrt(square / streams), of[k].spread, 0.2));
	}
	/* new each time, or too few: nothing tells how many there are */
	d = sketch_of(0, 100000, 1);
	assert_true(isinf(distinct_drawn_from(&d, 100000)));
	d = sketch_of(0, 20, 1);
	assert_true(isinf(distinct_drawn_from(&d, 50)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_right_within_three_errors),
		cmocka_unit_test(what_comes_again_does_not_count),
		cmocka_unit_test(streams_together_are_as_one),
		cmocka_unit_test(errors_are_those_of_the_method),
		cmocka_unit_test(what_values_are_drawn_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
