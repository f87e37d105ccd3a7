/* SPDX-License-Identifier: MIT */
/* Lines that come between two uses of one, and evict it; lines of code that are fetched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "culprit/crowd.h"
#include "culprit/fetched.h"

static void is(double a, double b)
{
	if (!(fabs(a - b) <= 1e-4 * fabs(b)))
		fail_msg("%g instead of %g", a, b);
}

/* Three lines are used 100 times each, 20 are used 10 times each, and 50 uses may be of a new line each time. */
static struct crowd crowd(void)
{
	struct crowd c = { 0 };

	assert_int_equal(crowd_add(&c, 200, 200, 20), 0);
	assert_int_equal(crowd_add(&c, 300, 300, 3), 0);
	assert_int_equal(crowd_add(&c, 50, 50, INFINITY), 0);
	assert_int_equal(crowd_add(&c, 0, 0, 7), 0); /* never used */
	assert_int_equal(crowd_ready(&c), 0);
	return c;
}

/* Each line comes between two uses of another one at most once, and less often if it is used less often. */
static void others_come_between(void **state)
{
	struct crowd c = crowd();

	(void)state;
	is(crowd_between(&c, 10), 3 + 20 + 50 / 10.);
	is(crowd_between(&c, 40), 3 + 200 / 40. + 50 / 40.);
	is(crowd_between(&c, 100), 3 + 200 / 100. + 50 / 100.);
	is(crowd_between(&c, 1000), 300 / 1000. + 200 / 1000. + 50 / 1000.);
	assert_true(isinf(crowd_between(&c, 0)));
	crowd_fini(&c);
}

static void few_others_evict_rarely(void **state)
{
	struct crowd c = crowd();

	(void)state;
	/* Of a room of four lines, a cache of limited associativity surely holds two: three lines may have no place. */
	is(crowd_evicts(&c, 1000, 4), 550 / 1000. / 4);
	is(crowd_evicts(&c, 1000, 6), 250 / 3. / 1000); /* all three, and three places for others */
	/* The room holds 40 lines. All that come between are 28 on average, so at most 28 / 40 of the uses find 40. */
	is(crowd_evicts(&c, 10, 40), 0.7);
	/* The three lines surely have their place; the others, 250 uses, fill the 37 that are left at most 250 / 37 times. */
	is(crowd_evicts(&c, 40, 40), 250 / 37. / 40);
	is(crowd_evicts(&c, 100, 40), 250 / 37. / 100);
	is(crowd_evicts(&c, 1000, 40), 250 / 37. / 1000);
	assert_true(crowd_evicts(&c, 10, 4) == 1);
	assert_true(crowd_evicts(&c, 0, 40) == 1);
	crowd_fini(&c);
}

/* Of 100 lines that are used alike, a room of 25 has any one in a quarter of the cases. A line that is used twice as often
 * must be left out twice in a row. */
static void a_full_room_loses_the_rest(void **state)
{
	struct crowd c = { 0 };

	(void)state;
	assert_int_equal(crowd_add(&c, 1e5, 1e5, 100), 0);
	assert_int_equal(crowd_ready(&c), 0);
	for (int again = 0; again < 2;
	     again++) { /* the second time the answers come from the cache of rooms */
		is(crowd_lost(&c, 1000, 25), 0.75);
		is(crowd_lost(&c, 2000, 25), 0.75 * 0.75);
		is(crowd_lost(&c, 500, 25), sqrt(0.75));
		is(crowd_lost(&c, 1000, 90), 0.1);
	}
	is(crowd_lost(&c, 1000, 100), 0.001); /* all fit: only the first use misses */
	assert_true(crowd_lost(&c, 0, 25) == 1);
	crowd_fini(&c);
}

/* Lines with bursts of their own: after the time in which half of the 50 rare lines are used, the room is full of these and of
 * all 50 frequent ones. What is new each time fills a room at its own rate: exp(-100 * 25 / 1000) of 100 bursts come too late. */
static void bursts_come_at_random(void **state)
{
	struct crowd c = { 0 }, new = { 0 };

	(void)state;
	assert_int_equal(crowd_add(&c, 50 * 1000, 50 * 1000, 50), 0);
	assert_int_equal(crowd_add(&c, 50 * 10, 50 * 10, 50), 0);
	assert_int_equal(crowd_ready(&c), 0);
	is(crowd_lost(&c, 10, 75), 0.5);
	is(crowd_lost(&c, 1000, 75), 0.001); /* never again, after its first use */
	crowd_fini(&c);
	assert_int_equal(crowd_add(&new, 1000, 1000, INFINITY), 0);
	assert_int_equal(crowd_ready(&new), 0);
	is(crowd_lost(&new, 100, 25), exp(-2.5));
	crowd_fini(&new);
}

/*
 * A walk along 100 lines comes to one of them again after 100 others, or two thirds of that if lines are used half as often. In
 * rooms of 50, 100 and 200 lines, 32, 16 and 8 of them fall into the line's set of 16: the normal distribution's parts beyond
 * 15.5, from its table.
 */
static void walks_pass_all_their_lines(void **state)
{
	struct crowd c = { 0 };

	(void)state;
	assert_int_equal(crowd_add(&c, 1e5, 1e5, 100), 0);
	assert_int_equal(crowd_ready(&c), 0);
	is(crowd_passed(&c, 1000, 100, 50), 0.99823);
	is(crowd_passed(&c, 1000, 100, 100), 0.54974);
	is(crowd_passed(&c, 1000, 100, 200), 0.004005);
	is(crowd_passed(&c, 2000, 0, 100 * -expm1(-0.5)), 0.54974);
	is(crowd_passed(&c, 10, 100, 1e6), 0.1); /* its first use misses in any case */
	assert_true(crowd_passed(&c, 0, 100, 50) == 1);
	crowd_fini(&c);
}

/* Uses that closely follow another one evict nothing: bursts count. */
static void bursts_are_not_uses(void **state)
{
	struct crowd c = { 0 };

	(void)state;
	assert_int_equal(crowd_add(&c, 1e6, 1e5, 100), 0);
	assert_int_equal(crowd_ready(&c), 0);
	is(crowd_lost(&c, 1000, 25), 0.75);
	is(crowd_between(&c, 5000), 100);
	crowd_fini(&c);
}

/* Two blocks share line 5 of an image. Windows saw 10 bursts where executions tell 20 + 30 + 10 = 60, so each seen one stands
 * for 6; each line has the larger of both numbers. */
static void lines_of_code_are_merged(void **state)
{
	static const struct fetched_unit unit[] = {
		{ .image = 1, .unit = 5, .uses = 60, .bursts = 10, .seen = 7 },
		{ .image = 0, .unit = 7, .uses = 30, .bursts = 30, .seen = 0 },
		{ .image = 0, .unit = 5, .uses = 100, .bursts = 20, .seen = 1 },
		{ .image = 0, .unit = 5, .uses = 50, .bursts = 10, .seen = 2 },
	};
	struct fetched f = { 0 };
	struct crowd c = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(fetched_add(&f, &unit[i]), 0);
	assert_int_equal(fetched_ready(&f, &c), 0);
	is(fetched_bursts(&f, 0, 5), 20); /* the larger of 20 and 3 * 6 */
	is(fetched_bursts(&f, 0, 7), 30);
	is(fetched_bursts(&f, 1, 5), 42); /* the larger of 7 * 6 and 10 */
	assert_true(fetched_bursts(&f, 1, 7) == 0);
	assert_int_equal(crowd_ready(&c), 0);
	assert_int_equal(c.n, 3);
	is(crowd_between(&c, 50), 2 + 30 / 50.);
	is(crowd_between(&c, 120), (100 + 60 + 30) / 120.);
	crowd_fini(&c);
	fetched_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_come_between),
		cmocka_unit_test(few_others_evict_rarely),
		cmocka_unit_test(a_full_room_loses_the_rest),
		cmocka_unit_test(bursts_come_at_random),
		cmocka_unit_test(bursts_are_not_uses),
		cmocka_unit_test(walks_pass_all_their_lines),
		cmocka_unit_test(lines_of_code_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
