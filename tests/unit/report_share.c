/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "query/share.h"

static void assert_near(double got, double wanted)
{
	if (got < wanted - 5e-4 || got > wanted + 5e-4)
		fail_msg("%f, not %f", got, wanted);
}

/* Published values of the Wilson score interval. */
static void test_wilson(void **state)
{
	struct share s = share_of(8, 10);

	(void)state;
	assert_near(s.value, 0.8);
	assert_near(s.low, 0.490);
	assert_near(s.high, 0.943);
	assert_near(s.bound, 0.310);
	s = share_of(0, 10);
	assert_near(s.low, 0);
	assert_near(s.high, 0.278);
	s = share_of(950, 1000);
	assert_near(s.low, 0.9347);
	assert_near(s.high, 0.9619);
}

static void test_nothing_known(void **state)
{
	struct share s = share_of(0, 0);

	(void)state;
	assert_near(s.value, 0);
	assert_near(s.low, 0);
	assert_near(s.high, 1);
}

static void test_hot_list_bounds_widen(void **state)
{
	const struct hot_value exact = { .value = 1, .count = 900, .low = 900, .high = 900 };
	const struct hot_value vague = { .value = 1, .count = 900, .low = 700, .high = 900 };
	struct share a = share_hot(&exact, 1000, 1000), b = share_hot(&vague, 1000, 1000);

	(void)state;
	assert_near(a.value, 0.9);
	assert_near(b.value, 0.9);
	assert_near(a.high, b.high);
	assert_true(b.low < 0.7 && a.low > 0.87);
	assert_near(b.bound, 0.9 - b.low);
}

static void test_dependent_observations_widen(void **state)
{
	const struct hot_value v = { .value = 1, .count = 900, .low = 900, .high = 900 };
	struct share a = share_hot(&v, 1000, 1000), b = share_hot(&v, 1000, 50);

	(void)state;
	assert_near(a.value, b.value);
	assert_true(b.bound > 3 * a.bound);
	/* there are never more independent ones than there are */
	assert_near(share_hot(&v, 1000, 5000).bound, a.bound);
}

/* Of 95 % intervals about 95 % hold: all outcomes of 60 draws, weighted by how likely they are. */
static void test_coverage(void **state)
{
	(void)state;
	for (double p = 0.05; p < 1; p += 0.09) {
		double term = 1, covered = 0;

		for (int i = 0; i < 60; i++)
			term *= 1 - p;
		for (int k = 0; k <= 60; k++) {
			struct share s = share_of(k, 60);

			if (s.low <= p && p <= s.high)
				covered += term;
			term *= p / (1 - p) * (60 - k) / (k + 1);
		}
		assert_true(covered > 0.91);
		assert_true(covered < 0.99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wilson),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_hot_list_bounds_widen),
		cmocka_unit_test(test_dependent_observations_widen),
		cmocka_unit_test(test_coverage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
