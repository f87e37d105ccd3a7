/* SPDX-License-Identifier: MIT */
/* Shares of a site's values and branches: their bounds count windows, not observations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/operands.h"

#define TIMES 16 /* observations of the site in each window */

static struct err err;
static uint64_t state = 5;

static double draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

/* Windows in each of which the site's value, and its branch, is the same throughout. */
static void fill(struct profile *p, int windows, double share)
{
	struct retired ri[TIMES];
	struct window w = { .weight = 1, .n = TIMES, .ri = ri };

	assert_int_equal(profile_init(p, &err), 0);
	for (int i = 0; i < windows; i++) {
		bool hit = draw() < share;

		memset(ri, 0, sizeof(ri));
		for (int k = 0; k < TIMES; k++) {
			ri[k].have = 1u << OPERAND_LOAD;
			ri[k].value[OPERAND_LOAD] = hit;
			ri[k].taken = hit;
		}
		assert_int_equal(profile_window(p, &w), 0);
	}
}

static const struct share *share_of_value(const struct operand_values *o, uint64_t value)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->value[i].value == value)
			return &o->share[i];
	fail_msg("no value %d", (int)value);
	return NULL;
}

static void test_bounds_cover(void **unused)
{
	const struct site_id id = { 0 };
	int rounds = 400, missed = 0, missed_taken = 0;

	(void)unused;
	for (int i = 0; i < rounds; i++) {
		struct operand_values o;
		struct view v = { 0 };
		struct share taken;
		struct profile p;

		fill(&p, 100, 0.3);
		v.profile = &p;
		v.counters.windows = 1000000; /* of the whole recording */
		assert_true(operands_read(&o, &v, profile_site_find(&p, id), OPERAND_LOAD));
		assert_int_equal(o.observations, 100 * TIMES);
		missed += share_of_value(&o, 1)->low > 0.3 || share_of_value(&o, 1)->high < 0.3;
		taken = operands_taken(&v, profile_site_find(&p, id));
		missed_taken += taken.low > 0.3 || taken.high < 0.3;
		assert_true(taken.value == share_of_value(&o, 1)->value);
		profile_fini(&p);
	}
	assert_in_range(missed, 0, rounds * 0.08); /* 95 %; of observations, half would be missed */
	assert_in_range(missed_taken, 0, rounds * 0.08);
}

/* Older recordings: the recording's windows, as far as there are fewer than observations. */
static void test_unknown_windows(void **unused)
{
	const struct site_id id = { 0 };
	struct operand_values by_site, by_run, by_all;
	struct view v = { 0 };
	struct profile p;
	struct site *s;

	(void)unused;
	fill(&p, 100, 0.3);
	v.profile = &p;
	v.counters.windows = 400;
	s = profile_site(&p, id);
	assert_true(operands_read(&by_site, &v, s, OPERAND_LOAD));
	s->windows = 0;
	free(s->weights);
	s->weights = NULL;
	assert_true(operands_read(&by_run, &v, s, OPERAND_LOAD));
	v.counters.windows = 0;
	assert_true(operands_read(&by_all, &v, s, OPERAND_LOAD));
	assert_true(by_site.share[0].bound > 1.5 * by_run.share[0].bound);
	assert_true(by_run.share[0].bound > 1.2 * by_all.share[0].bound);
	/* known less often than windows saw it: no more than were known */
	s->windows = 100 * TIMES + 1;
	assert_true(operands_read(&by_site, &v, s, OPERAND_LOAD));
	assert_true(by_site.share[0].bound == by_all.share[0].bound);
	profile_fini(&p);
}

static void test_no_values(void **unused)
{
	struct operand_values o;
	struct view v = { 0 };
	struct hot **list;
	struct site s = { 0 };

	(void)unused;
	assert_false(operands_read(&o, &v, &s, OPERAND_LOAD));
	list = site_operand(&s, OPERAND_LOAD);
	assert_non_null(list);
	*list = hot_new(HOT_SPACE_SAVING, 4);
	assert_false(operands_read(&o, &v, &s, OPERAND_LOAD));
	hot_free(*list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_cover),
		cmocka_unit_test(test_unknown_windows),
		cmocka_unit_test(test_no_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
