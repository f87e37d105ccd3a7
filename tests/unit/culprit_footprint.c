/* SPDX-License-Identifier: MIT */
/* What an access costs by where its data is: lists that are walked, and places drawn at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "culprit/facts.h"

#define LINES 1000

/* A miss of the first level costs 100 cycles where the room is half as large as the region; the other levels cost nothing. */
static const struct machine_level level[MACHINE_LEVELS] = { { LINES / 2.0, 100, 100, 0 },
							    { 1e9, 0, 0, 0 },
							    { 1e9, 0, 0, 0 } };

/* The likely cost of loads that went 1000 times to each of 1000 lines, none of which the window had used. walk: the steps of each
 * walk. known: the part of these uses that is known of the region. */
static double likely_cost(double walk, double known)
{
	struct hot *hot = hot_new(HOT_SPACE_SAVING, 16);
	struct places places = { 0 };
	struct crowd crowd = { 0 };
	struct footprint f = { .hot = hot,
			       .uses = 1000.0 * LINES,
			       .unit = MACHINE_LINE,
			       .crowd = &crowd,
			       .places = &places,
			       .fresh = { 1, 1 },
			       .distinct = LINES,
			       .processes = 1,
			       .layouts = 1,
			       .walk = walk,
			       .hiding = HIDES_NOTHING };
	struct odds cost;

	assert_non_null(hot);
	for (uint64_t i = 0; i < LINES; i++)
		assert_int_equal(hot_add(hot, i * 617 % LINES << MACHINE_LINE, 1), 0);
	assert_int_equal(places_add(&places, &(struct place_area){ .to = LINES - 1, .layouts = 1 },
				    known * f.uses, known * f.uses) |
				 places_ready(&places, &crowd) | crowd_ready(&crowd),
			 0);
	cost = footprint_cost(&f, level);
	places_fini(&places);
	crowd_fini(&crowd);
	hot_free(hot);
	return cost.likely;
}

/* Half of the lines fit. Of uses at random half find theirs; a walk along all of them comes back to a line after all the others.
 * Walks that are too short to pass half of the lines begin anywhere, as uses at random do. */
static void walks_evict_what_they_come_back_to(void **state)
{
	(void)state;
	assert_float_equal(likely_cost(0, 1), 50, 0.5);
	assert_float_equal(likely_cost(LINES * 0.4, 1), 50, 0.5);
	assert_float_equal(likely_cost(LINES * 0.6, 1), 100, 0.5);
	assert_float_equal(likely_cost(1e9, 1), 100, 0.5);
}

/* Where a hundredth of the uses is known, the room seems to last for the 693 of 10,000 known uses that find half of the lines. In that
 * time the load itself comes to each line 69 times, so only its first use of a line misses, one in 1000. */
static void the_load_itself_tells_how_often_its_lines_are_used(void **state)
{
	(void)state;
	assert_float_equal(likely_cost(0, 0.01), 0.1, 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_evict_what_they_come_back_to),
		cmocka_unit_test(the_load_itself_tells_how_often_its_lines_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
