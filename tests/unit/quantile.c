/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/quantile.h"

static void values_count_by_their_weights(void **state)
{
	struct weighted v[] = { { 7, 1 }, { 1, 5 }, { 3, 4 } };

	(void)state;
	assert_true(quantile(v, 3, 0) == 1);
	assert_true(quantile(v, 3, 0.49) == 1);
	assert_true(quantile(v, 3, 0.5) == 3); /* a half is not more than one */
	assert_true(quantile(v, 3, 0.89) == 3);
	assert_true(quantile(v, 3, 0.9) == 7);
	assert_true(quantile(v, 3, 1) == 7);
	assert_true(v[0].value == 1 && v[2].value == 7);
}

static void of_nothing_it_is_nothing(void **state)
{
	struct weighted one = { 2, 0 };

	(void)state;
	assert_true(quantile(NULL, 0, 0.5) == 0);
	assert_true(quantile(&one, 1, 0.5) == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_count_by_their_weights),
		cmocka_unit_test(of_nothing_it_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
