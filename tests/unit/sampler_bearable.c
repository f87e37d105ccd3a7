/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sampler/bearable.h"

/* The part of a program's time that samples take. */
static double taken(double rate, unsigned burst, bool virtual)
{
	return rate * bearable_sample_us(burst, virtual) / 1e6;
}

static void test_default_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(bearable_burst(997, 256, true), 256);
	assert_int_equal(bearable_burst(10000, 256, true), 256);
	assert_int_equal(bearable_burst(1, 2048, true), 2048);
}

static void test_windows_are_shortened(void **state)
{
	(void)state;
	for (double rate = 1000; rate < 150000; rate *= 1.3)
		for (int virtual = 0; virtual < 2; virtual ++) {
			unsigned burst = bearable_burst(rate, 512, virtual);

			if (!burst) {
				assert_true(taken(rate, BEARABLE_BURST, virtual) > BEARABLE_SHARE);
				continue;
			}
			assert_true(taken(rate, burst, virtual) <= BEARABLE_SHARE);
			if (burst < 512)
				assert_true(taken(rate, burst + 1, virtual) > BEARABLE_SHARE);
		}
}

static void test_rate_that_is_named_is_borne(void **state)
{
	(void)state;
	for (unsigned burst = BEARABLE_BURST; burst <= 2048; burst *= 2)
		for (int virtual = 0; virtual < 2; virtual ++) {
			double rate = bearable_rate(burst, virtual);

			assert_int_equal(bearable_burst(floor(rate), burst, virtual), burst);
			assert_true(bearable_burst(1.1 * rate, burst, virtual) < burst);
		}
}

/* Stacks are borne at the default, and wherever they are borne, windows alone are. */
static void test_stacks(void **state)
{
	(void)state;
	assert_true(bearable_stacks(997, 256, true));
	assert_true(bearable_stacks(9999, 256, true));
	assert_false(bearable_stacks(90000, BEARABLE_BURST, true));
	for (double rate = 1000; rate < 150000; rate *= 1.3)
		if (bearable_stacks(rate, 256, true))
			assert_int_equal(bearable_burst(rate, 256, true), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_is_left_alone),
		cmocka_unit_test(test_windows_are_shortened),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_rate_that_is_named_is_borne),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
