/* SPDX-License-Identifier: MIT */
/* Counters of loops that often begin anew between two windows, beside what times tell. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "culprit/turns.h"

/* The scale of a part whose time tells 1, if a loop began anew in the share `often` of 400 gaps, and once in a gap at most if
 * it has the scale `of`. slow: what executions can have waited for, as a logarithm. */
static double scale(double of, double often, double slow)
{
	struct part part = { .weight = 1 / 0.25 };
	struct part_turns t = { .scale = log(of), .variance = 0.001, .often = often, .gaps = 400 };
	struct parts p = { .part = &part, .n = 1, .turns = &t, .nturns = 1 };

	assert_int_equal(turns_tell(&p, &slow), 0);
	return exp(part.sum / part.weight);
}

/* Between the octaves of how often it began anew, the nearest to what times tell is the most likely one. */
static void time_tells_how_often(void **state)
{
	(void)state;
	assert_true(fabs(scale(0.8, 0.2, 0) - 0.8) < 0.05);
	assert_true(fabs(scale(1.2, 0.2, 0) - 1.2) < 0.05);
	/* a fifth of the executions that the time tells: it began anew 1.25 times in a gap, or more often */
	assert_true(scale(0.2, 0.25, 0) > 0.9 && scale(0.2, 0.25, 0) < 1.4);
}

/* Executions that can have waited may have been few. */
static void what_waits_may_be_slow(void **state)
{
	(void)state;
	assert_true(scale(0.1, 0.1, 5) < 0.75 * scale(0.1, 0.1, 0));
}

/* Windows that see a loop anywhere tell nothing: every other gap ends in a reset. */
static void any_place_tells_nothing(void **state)
{
	(void)state;
	assert_true(fabs(scale(0.5, 0.5, 0) - 1) < 0.15);
}

static void counted_parts_are_left_alone(void **state)
{
	struct part part = { .weight = 4, .sum = 1, .counted = true };
	struct part_turns t = { .scale = 2, .variance = 0.001, .often = 0.2, .gaps = 400 };
	struct parts p = { .part = &part, .n = 1, .turns = &t, .nturns = 1 };
	double slow = 0;

	(void)state;
	assert_int_equal(turns_tell(&p, &slow), 0);
	assert_true(part.weight == 4 && part.sum == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_tells_how_often),
		cmocka_unit_test(what_waits_may_be_slow),
		cmocka_unit_test(any_place_tells_nothing),
		cmocka_unit_test(counted_parts_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
