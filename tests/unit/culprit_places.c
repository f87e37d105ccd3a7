/* SPDX-License-Identifier: MIT */
/* Regions that sites use, overlaid; those of several processes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "culprit/places.h"

/* 100 pages are used of 10,000 that a load's addresses span, and a store went all over them, seldom. */
static void sketches_tell_how_much_of_a_region_is_used(void **state)
{
	struct distinct used = { { 0 } };
	struct places p = { 0 };
	struct crowd c = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		distinct_add(&used, i);
	assert_int_equal(places_add(&p,
				    &(struct place_area){
					    .to = 9999, .used = &used, .seen = 1e5, .layouts = 1 },
				    1e6, 1e6) |
				 places_add(&p, &(struct place_area){ .to = 12000, .layouts = 1 },
					    100, 100) |
				 places_ready(&p, &c) | crowd_ready(&c),
			 0);
	assert_true(crowd_between(&c, 0.001) > 2020 && crowd_between(&c, 0.001) < 2200);
	assert_true(places_bursts(&p, 5000) > 1e4 * 0.6 && places_bursts(&p, 5000) < 1e4 * 1.6);
	places_fini(&p);
	crowd_fini(&c);
}

static void regions_lie_over_each_other(void **state)
{
	struct places p = { 0 };
	struct crowd c = { 0 };

	(void)state;
	/* units 0 to 99 ten times each, 50 to 149 twice each */
	assert_int_equal(
		places_add(&p, &(struct place_area){ .to = 99, .layouts = 1 }, 1000, 500) |
			places_add(&p, &(struct place_area){ .from = 50, .to = 149, .layouts = 1 },
				   200, 200),
		0);
	assert_int_equal(places_ready(&p, &c) | crowd_ready(&c), 0);
	assert_true(fabs(places_bursts(&p, 0) - 5) < 1e-9);
	assert_true(fabs(places_bursts(&p, 60) - 7) < 1e-9);
	assert_true(fabs(places_bursts(&p, 149) - 2) < 1e-9);
	assert_true(places_bursts(&p, 150) == 0);
	/* 50 of them are used 12 times, 50 ten times, 50 twice: they are 150, not 200 */
	assert_true(fabs(crowd_between(&c, 2) - 150) < 1e-6);
	places_fini(&p);
	crowd_fini(&c);
}

/* Four processes one after the other, each with its own 100 units and a fourth of the uses, fill as much of a cache as
 * one of them. */
static void processes_share_no_lines(void **state)
{
	struct places four = { 0 }, one = { 0 };
	struct crowd c = { 0 }, d = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		const struct place_area at = { .from = 1000 * i,
					       .to = 1000 * i + 99,
					       .layouts = 4 };

		assert_int_equal(places_add(&four, &at, 1000, 400), 0);
	}
	assert_int_equal(
		places_add(&one, &(struct place_area){ .to = 99, .layouts = 1 }, 1000, 400), 0);
	assert_int_equal(places_ready(&four, &c) | crowd_ready(&c) | places_ready(&one, &d) |
				 crowd_ready(&d),
			 0);
	assert_true(fabs(places_bursts(&four, 2050) - places_bursts(&one, 50)) < 1e-9);
	assert_true(fabs(crowd_between(&c, 10) - crowd_between(&d, 10)) < 1e-6);
	assert_true(fabs(crowd_lost(&c, 4, 50) - crowd_lost(&d, 4, 50)) < 1e-6);
	places_fini(&four);
	places_fini(&one);
	crowd_fini(&c);
	crowd_fini(&d);
}

/* Two sites that use the same 1000 units in each of 20 processes, of which the one's list shows one process, the other's
 * another: a process uses 1000 units, not a twentieth of 2000. */
static void a_process_uses_what_one_site_uses(void **state)
{
	struct distinct used = { { 0 } };
	struct place_area at = { .to = 999, .used = &used, .seen = 1e6, .layouts = 20 };
	struct places p = { 0 };
	struct crowd c = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 20000; i++)
		distinct_add(&used, i);
	assert_int_equal(places_add(&p, &at, 1e6, 1e6), 0);
	at.from = 1 << 20;
	at.to = at.from + 999;
	assert_int_equal(places_add(&p, &at, 1e6, 1e6), 0);
	assert_int_equal(places_ready(&p, &c) | crowd_ready(&c), 0);
	/* the sketch tells 20000 within a tenth */
	assert_true(crowd_between(&c, 0.001) > 900 && crowd_between(&c, 0.001) < 1001);
	/* of 2e6 uses a process has a twentieth, 100 of each unit */
	assert_true(places_bursts(&p, 500) > 100 * 0.99 && places_bursts(&p, 500) < 100 * 1.12);
	places_fini(&p);
	crowd_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sketches_tell_how_much_of_a_region_is_used),
		cmocka_unit_test(regions_lie_over_each_other),
		cmocka_unit_test(processes_share_no_lines),
		cmocka_unit_test(a_process_uses_what_one_site_uses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
