/* SPDX-License-Identifier: MIT */
/* Counters of loops that often begin anew between two windows, beside what times tell. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "culprit/turns.h"

/*
 * The scale of a part whose time tells 1, with the variance 0.25, if a loop began anew in the share `often` of 400 gaps, and
 * once in a gap at most if it has the scale `of`, with the variance 0.001. slow: what executions can have waited for, as a
 * logarithm.
 *
 * If the loop began anew k times more in a gap, the scale is of * (often + k) / often, of the logarithm x. That is as likely as
 * exp(-x^2 / 2 / 0.251) / (often + k), but a tenth less where x > 0, since a tenth of all programs wait.
 */
static double scale(double of, double often, double slow)
{
	struct part part = { .weight = 1 / 0.25 };
	struct part_turns t = { .scale = log(of), .variance = 0.001, .often = often, .gaps = 400 };
	struct parts p = { .part = &part, .n = 1, .turns = &t, .nturns = 1 };

	assert_int_equal(turns_tell(&p, &slow), 0);
	return exp(part.sum / part.weight);
}

static void is(double a, double b)
{
	if (!(fabs(a - b) <= 5e-4 * b))
		fail_msg("%g instead of %g", a, b);
}

/* Of the cases of how often it began anew, those near to what times tell are the most likely ones. */
static void time_tells_how_often(void **state)
{
	(void)state;
	/* k = 0: x = -0.2231, chance 4.528; k = 1: 1.569, 0.0056; the mean is -0.2209 */
	is(scale(0.8, 0.2, 0), 0.8018);
	/* k = 0: 0.1823, 4.212; k = 1: 1.974, 0.0003; 0.1825 */
	is(scale(1.2, 0.2, 0), 1.2002);
	/* a fifth of the executions that the time tells: it began anew 1.25 times in a gap, or more often.
	 * x = -1.609, 0, 0.588, 0.956, 1.224, 1.435, 1.609, ... have the chances
	 * 0.023, 0.72, 0.201, 0.0449, 0.0107, 0.0028, 0.0008, ...; the mean is 0.1427 */
	is(scale(0.2, 0.25, 0), 1.1534);
}

/*
 * x = -2.303, 0.0953, 0.742, 1.131, 1.411, 1.629, ... have the chances 0.0003, 0.8035, 0.1432, 0.0227, 0.0042, 0.0009, ...; the
 * mean is 0.2212. Executions that can have waited may have been few: for a tenth of all programs, the variance below 0 is
 * (5 / 2)^2 more, so the first chance is 0.1309, and the mean -0.0770.
 */
static void what_waits_may_be_slow(void **state)
{
	(void)state;
	is(scale(0.1, 0.1, 0), 1.2476);
	is(scale(0.1, 0.1, 5), 0.9259);
}

/* Windows that see a loop anywhere tell nothing: every other gap ends in a reset. Of 400 gaps half end so with the density
 * 15.96, 7 times as likely; beside 111.7 the cases with their mean of -0.22 have the chance 1.28. */
static void any_place_tells_nothing(void **state)
{
	(void)state;
	is(scale(0.5, 0.5, 0), 0.9976);
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
