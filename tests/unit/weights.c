/* SPDX-License-Identifier: MIT */
/* Weights of windows: by their pace, and by the balance of windows that begin and end at a place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observe/balance.h"
#include "observe/pace.h"
#include "x86/insn.h"

#define LENGTH 64
#define EACH 4	/* every fourth instruction is an indirect jump, */
#define KNOWN 8 /* or only the first eight of these, after which mispredictions count */

static void is(double a, double b, double part)
{
	if (!(fabs(a - b) <= part * fabs(b)))
		fail_msg("%.9g instead of %.9g", a, b);
}

/* A window's factor by its pace. All its jumps go to new places, which nothing predicts; or there is none behind the
 * eighth one. */
static double pace(struct profile *p, bool wrong)
{
	static uint64_t next = 0x100000;
	struct retired ri[LENGTH];
	struct window w = { .weight = 1, .n = LENGTH, .ri = ri };
	double factor = 0;

	for (uint32_t i = 0; i < LENGTH; i++)
		ri[i] = (struct retired){ .site = { .addr = 0x1000 + i }, .cls = INSN_OTHER };
	for (uint32_t i = EACH - 1; i < (wrong ? LENGTH : KNOWN * EACH); i += EACH) {
		ri[i].cls = INSN_IJUMP;
		ri[i].have = 1u << OPERAND_TARGET;
		ri[i].value[OPERAND_TARGET] = next += 0x1000;
	}
	w.start = ri[0].site;
	assert_int_equal(pace_window(p, &w, &factor), 0);
	for (uint32_t i = 0; i < LENGTH; i++)
		assert_int_equal(pace_wrong(p, i),
				 i % EACH == EACH - 1 && (wrong || i < KNOWN * EACH));
	return factor;
}

/*
 * An instruction takes 0.3 cycles, and 20 for each misprediction. Behind its eighth branch a window has 32 instructions and 8
 * branches. All wrong after a window without: the usual rate is 8 in 64, 0.125, which takes 2.8 cycles; the window's own, beside
 * 30 instructions of the usual rate, (8 + 30 * 0.125) / 62 = 0.1895, which takes 4.09. Without again: 8 in 96 take 1.967
 * cycles, and 30 * 0.0833 / 62 = 0.0403 take 1.106.
 */
static void a_slow_window_counts_less(void **state)
{
	struct err err = { 0 };
	struct profile p;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	is(pace(&p, false), 1, 1e-9);
	is(pace(&p, true), 2.8 / (0.3 + 20 * 11.75 / 62), 1e-9);
	is(pace(&p, false), (0.3 + 20 * 8 / 96.) / (0.3 + 20 * 2.5 / 62), 1e-9);
	profile_fini(&p);
}

static void one_window_is_usual(void **state)
{
	struct err err = { 0 };
	struct profile p;

	(void)state;
	assert_int_equal(profile_init(&p, &err), 0);
	is(pace(&p, true), 1, 1e-9);
	profile_fini(&p);
}

static void returns_and_unknown_targets_are_not_predicted(void **state)
{
	struct retired jump = { .cls = INSN_IJUMP };

	(void)state;
	assert_true(pace_is_predicted(&(struct retired){ .cls = INSN_BRANCH }));
	assert_false(pace_is_predicted(&(struct retired){ .cls = INSN_RET }));
	assert_false(pace_is_predicted(&(struct retired){ .cls = INSN_JUMP }));
	assert_false(pace_is_predicted(&jump));
	jump.have = 1u << OPERAND_TARGET;
	assert_true(pace_is_predicted(&jump));
	jump.cls = INSN_ICALL;
	assert_true(pace_is_predicted(&jump));
	jump.cls = INSN_RET;
	assert_false(pace_is_predicted(&jump));
}

static unsigned apart; /* the distance of two places: 2^apart bytes */

/* The factor of a window from one place to another. */
static double window(struct profile *p, uint64_t from, uint64_t to)
{
	struct retired ri[2] = { { .site = { .addr = from << apart } },
				 { .site = { .addr = to << apart } } };
	struct window w = { .weight = 1, .n = 2, .ri = ri, .start = ri[0].site };
	double factor = 0;

	assert_int_equal(balance_window(p, &w, 1, &factor), 0);
	return factor;
}

static void windows(struct profile *p, uint64_t from, uint64_t to, int n)
{
	while (n--)
		assert_true(window(p, from, to) == 1);
}

/*
 * 100 of 700 windows go from the first place to the second, 50 of 300 come back. As often as control comes, it goes, so a window
 * of the second place stands for twice as much: 0.7 m + 0.3 * 2 m = 1, m = 0.769. Places of three sizes correct that one after
 * the other, so what is drawn to 1 is little where both places differ in the largest size, of 2^12 bytes. If they differ in the
 * smallest alone, of 2^6 bytes, factors are drawn to 1 by 1 - 0.95 * 700 / 710 = 0.0634 and 1 - 0.95 * 300 / 310 = 0.0806: m =
 * 0.816 and n = 1.429 solve
 *
 *   m : n = 0.9366 * (600 m + 50 n) / 700 + 0.0634 : 0.9194 * (100 m + 250 n) / 300 + 0.0806,    0.7 m + 0.3 n = 1
 *
 * Within such a place nothing is told apart.
 */
static void what_ends_began(void **state)
{
	static const struct {
		unsigned apart;
		double first, second, part;
	} cases[] = { { 20, 1 / 1.3, 2 / 1.3, 0.03 },
		      { 12, 1 / 1.3, 2 / 1.3, 0.03 },
		      { 6, 0.8162, 1.4289, 0.005 },
		      { 4, 1, 1, 1e-9 } };
	struct err err = { 0 };
	struct profile p;

	(void)state;
	for (int i = 0; i < 4; i++) {
		apart = cases[i].apart;
		assert_int_equal(profile_init(&p, &err), 0);
		windows(&p, 1, 1, 600);
		windows(&p, 1, 2, 100);
		windows(&p, 2, 2, 249);
		windows(&p, 2, 1, 50); /* 999: none of them was corrected yet */
		is(window(&p, 2, 2), cases[i].second, cases[i].part);
		is(window(&p, 1, 1), cases[i].first, cases[i].part);
		profile_fini(&p);
	}
}

/* Two halves of a program between which control was hardly seen are not compared: by three of 1000 windows, one would stand for
 * twice the other. */
static void what_hardly_meets_stays(void **state)
{
	struct err err = { 0 };
	struct profile p;

	(void)state;
	apart = 20;
	assert_int_equal(profile_init(&p, &err), 0);
	windows(&p, 1, 1, 499);
	windows(&p, 1, 2, 1);
	windows(&p, 2, 1, 2);
	windows(&p, 2, 2, 497);
	is(window(&p, 2, 2), 1, 0.1);
	is(window(&p, 1, 1), 1, 0.1);
	profile_fini(&p);
}

/* As many windows end as begin, at each place: nothing is corrected, however few they are. */
static void what_is_balanced_stays(void **state)
{
	struct err err = { 0 };
	struct profile p;

	(void)state;
	apart = 20;
	assert_int_equal(profile_init(&p, &err), 0);
	windows(&p, 1, 1, 700);
	windows(&p, 1, 2, 100);
	windows(&p, 2, 1, 100);
	windows(&p, 3, 3, 99);
	is(window(&p, 3, 3), 1, 1e-9);
	is(window(&p, 1, 1), 1, 1e-9);
	is(window(&p, 2, 1), 1, 1e-9);
	is(window(&p, 4, 4), 1, 1e-9); /* a new place */
	profile_fini(&p);
}

/* A window is worth at most ten. At the second place 40 begin, and most end: it would have to be worth some twenty. */
static void corrections_have_a_limit(void **state)
{
	struct err err = { 0 };
	struct profile p;

	(void)state;
	apart = 20;
	assert_int_equal(profile_init(&p, &err), 0);
	windows(&p, 1, 2, 960);
	windows(&p, 2, 2, 39);
	assert_true(window(&p, 2, 2) == 10);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_window_counts_less),
		cmocka_unit_test(one_window_is_usual),
		cmocka_unit_test(returns_and_unknown_targets_are_not_predicted),
		cmocka_unit_test(what_ends_began),
		cmocka_unit_test(what_hardly_meets_stays),
		cmocka_unit_test(what_is_balanced_stays),
		cmocka_unit_test(corrections_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
