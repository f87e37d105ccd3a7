/* SPDX-License-Identifier: MIT */
/*
 * Random instructions in both builds of the interpreter against the CPU. With arguments (--count,
 * --seed, --first, --vector PERCENT, --table) it is the long tier's and the finder's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "oracle/random.h"

static struct random_opts opts = { .seed = 1, .count = 100000, .vector_percent = 15 };
static struct random_run run;

static void test_both_builds(void **state)
{
	(void)state;
	assert_int_equal(random_run(&run, &opts), 0);
	assert_int_equal(run.compared[0], opts.count);
}

static void test_kernel_build_ran(void **state)
{
	(void)state;
	if (!run.has_kernel)
		skip();
	assert_int_equal(run.compared[1], opts.count);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_builds),
		cmocka_unit_test(test_kernel_build_ran),
	};
	int failed;

	if (random_options(&opts, argc, argv))
		return 2;
	if (random_init(&run)) {
		puts("Bail out! no memory, or none at the fixed addresses");
		return 1;
	}
	if (!run.has_kernel)
		tests[1].name = run.no_kernel;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	random_fini(&run);
	return failed;
}
