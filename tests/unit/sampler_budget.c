/* SPDX-License-Identifier: MIT */
/* What recording takes stays within its budget, with as many windows as that allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/budget.h"

#define SECOND 1000000000ull
#define CPUS 2
#define PART 0.05

/* A machine, by the share of each second that recording takes: for samples, for windows if all are run, and, once in a while,
 * to write what there is. */
struct load {
	double fixed, windows, writing; /* ns in a second */
	unsigned often; /* seconds from one writing to the next; 0: nothing is written */
};

struct outcome {
	double taken; /* part of the machine, of all seconds but the first ones */
	double mean;  /* windows that one stood for */
	unsigned least, most, changes;
};

static struct outcome run(const struct load *l, unsigned first, unsigned seconds)
{
	struct outcome o = { .least = BUDGET_MOST };
	struct budget b;
	unsigned every = 1, before = 1;
	double taken = 0, of_late = 0;

	budget_begin(&b, PART, CPUS);
	for (unsigned s = 1; s <= first + seconds; s++) {
		double now = l->fixed + l->windows / every;

		now += l->often && s % l->often == 0 ? l->writing : 0;
		taken += now;
		every = budget_tell(&b, s * SECOND, (uint64_t)taken);
		if (s <= first) {
			before = every;
			continue;
		}
		of_late += now;
		o.mean += (double)every / seconds;
		o.least = every < o.least ? every : o.least;
		o.most = every > o.most ? every : o.most;
		o.changes += every != before;
		before = every;
	}
	o.taken = of_late / (double)SECOND / CPUS / seconds;
	return o;
}

static void test_cheap_recordings_have_all_windows(void **state)
{
	const struct load light = { .fixed = 1e7, .windows = 7e7 };
	struct outcome o = run(&light, 0, 600);

	(void)state;
	assert_int_equal(o.most, 1);
}

static void test_budget_is_kept(void **state)
{
	(void)state;
	for (unsigned ms = 120; ms < 700; ms += 20) {
		const struct load heavy = { .fixed = 1e7, .windows = ms * 1e6 };
		struct outcome o = run(&heavy, 60, 600);

		assert_true(o.taken <= 1.02 * PART);
		assert_true(o.taken >= 0.6 * PART);
		assert_true(o.least > 1 || o.mean < 2);
	}
}

/* Where one number of windows is just right, it does not change to and fro. */
static void test_choice_is_steady(void **state)
{
	const struct load twice = { .fixed = 1e7, .windows = 1.7e8 };
	struct outcome o = run(&twice, 60, 600);

	(void)state;
	assert_int_equal(o.least, 2);
	assert_int_equal(o.most, 2);
	assert_int_equal(o.changes, 0);
}

static void test_writing_now_and_then_is_paid_by_what_was_saved(void **state)
{
	const struct load writes = { .fixed = 1e7, .windows = 5e7, .writing = 3e8, .often = 10 };
	struct outcome o = run(&writes, 60, 600);

	(void)state;
	assert_int_equal(o.most, 1);
}

static void test_most_that_can_be_passed_over(void **state)
{
	const struct load huge = { .fixed = 1e7, .windows = 2e9 };
	struct outcome o = run(&huge, 60, 600);

	(void)state;
	assert_int_equal(o.least, BUDGET_MOST);
	assert_int_equal(o.most, BUDGET_MOST);
}

/* A load that ends leaves a debt, and once that is paid all windows are run again. */
static void test_all_windows_are_run_again(void **state)
{
	struct budget b;
	uint64_t taken = 0;
	unsigned every = 1;

	(void)state;
	budget_begin(&b, PART, CPUS);
	for (uint64_t s = 1; s <= 30; s++)
		every = budget_tell(&b, s * SECOND, taken += 500000000 / every);
	assert_true(every > 2);
	for (uint64_t s = 31; s <= 90; s++)
		every = budget_tell(&b, s * SECOND, taken += 20000000 / every);
	assert_int_equal(every, 1);
}

static void test_without_a_budget_all_are_run(void **state)
{
	struct budget b;
	unsigned every = 1;

	(void)state;
	budget_begin(&b, 0, CPUS);
	for (uint64_t s = 1; s < 100 && every == 1; s++)
		every = budget_tell(&b, s * SECOND, s * SECOND);
	assert_int_equal(every, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheap_recordings_have_all_windows),
		cmocka_unit_test(test_budget_is_kept),
		cmocka_unit_test(test_choice_is_steady),
		cmocka_unit_test(test_writing_now_and_then_is_paid_by_what_was_saved),
		cmocka_unit_test(test_most_that_can_be_passed_over),
		cmocka_unit_test(test_all_windows_are_run_again),
		cmocka_unit_test(test_without_a_budget_all_are_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
