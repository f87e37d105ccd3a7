/* SPDX-License-Identifier: MIT */
/*
 * Flow from branch outcomes, and the confidence in it, on a program made by hand (support/estimates.h).
 *
 * Each block has one instruction, so a block is believed to have run l = 1 / 500 of what was observed, and the rest of what
 * flows in: f = 0.998 * in + 0.002 * observed. The numbers below follow from that by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/estimates.h"

#define EXACT 1e-4 /* part by which a solution by iteration may differ from the true one */

static void estimates(struct estimate *e)
{
	struct err err = { 0 };

	assert_int_equal(walk_estimate(e, &err), 0);
}

static void is(const struct estimate *e, int proc, uint32_t b, double f)
{
	if (!estimates_near(estimates_f(e, proc, b), f, EXACT))
		fail_msg("block %u of procedure %d: %g instead of %g", b, proc,
			 estimates_f(e, proc, b), f);
}

static void true_observations_are_kept(void **state)
{
	struct estimate e = estimates_program(1);

	(void)state;
	estimates(&e);
	is(&e, CALLER, 2, 1000);
	is(&e, CALLER, 3, 25);
	is(&e, CALLER, 4, 75);
	is(&e, CALLER, 5, 100);
	is(&e, CALLEE, 2, 25);
	assert_true(estimates_near(e.proc[CALLER].edge[2].f, 900, EXACT)); /* back in the loop */
	estimate_fini(&e);
}

/* A block that is slow is observed too often; flow knows how often it runs, and what it calls. */
static void flow_corrects_what_time_weights(void **state)
{
	struct estimate e = estimates_program(5);

	(void)state;
	estimates(&e);
	is(&e, CALLER, 3, 25.2);     /* 0.998 * 25 + 0.002 * 125 */
	is(&e, CALLEE, 2, 25.3996);  /* 0.998 * 25.2 + 0.002 * 125 */
	is(&e, CALLER, 5, 100.1996); /* 0.998 * (25.2 + 75) + 0.002 * 100 */
	estimate_fini(&e);
}

/* Flow from blocks that few windows saw does not reach beyond a window of 128 instructions. */
static void few_windows_shorten_the_reach(void **state)
{
	const struct site rare = { .observed = 1000000, .windows = 200 };
	struct estimate e = estimates_program(5);

	(void)state;
	e.proc[CALLER].site[3] = &rare;
	estimates(&e);
	is(&e, CALLER, 3, 25.78125); /* 127/128 * 25 + 1/128 * 125 */
	estimate_fini(&e);
}

/* What was observed beyond the calls that are known comes from unknown callers, unless it is so little (a fifth) that
 * observations vary as much. */
static void unknown_callers_explain_the_rest(void **state)
{
	/* observed; 25 of that are calls that are known */
	static const double observed[] = { 125, 32, 30 };
	static const double f[] = { 125, 32, 25.01 }; /* 0.998 * 25 + 0.002 * 30 */

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct estimate e = estimates_program(1);

		e.proc[CALLEE].observed[0] = e.proc[CALLEE].observed[2] = observed[i];
		estimates(&e);
		is(&e, CALLEE, 2, f[i]);
		estimate_fini(&e);
	}
}

static void scale_makes_no_difference(void **state)
{
	struct estimate a = estimates_program(2), b = estimates_program(2);

	(void)state;
	for (uint32_t k = 0; k < CALLER_BLOCKS; k++)
		b.proc[CALLER].observed[k] *= 1024;
	for (uint32_t k = 0; k < CALLEE_BLOCKS; k++)
		b.proc[CALLEE].observed[k] *= 1024;
	estimates(&a);
	estimates(&b);
	for (uint32_t k = 0; k < CALLER_BLOCKS; k++)
		is(&b, CALLER, k, 1024 * estimates_f(&a, CALLER, k));
	is(&b, CALLEE, 2, 1024 * estimates_f(&a, CALLEE, 2));
	estimate_fini(&a);
	estimate_fini(&b);
}

/* A loop that was never seen to end would run 0.998 * 100 / 0.002 times and more; no block runs more often than 30 times
 * what was observed, and 3 more. */
static void a_loop_without_an_end_has_a_limit(void **state)
{
	struct estimate e = estimates_program(1);

	(void)state;
	e.proc[CALLER].share[2] = 1;
	e.proc[CALLER].share[1] = e.proc[CALLER].share[3] = 0;
	estimates(&e);
	is(&e, CALLER, 2, 30003);
	is(&e, CALLER, 3, 0.05); /* nothing flows in; 0.002 * 25 */
	is(&e, CALLER, 4, 0.15);
	estimate_fini(&e);
}

static void nothing_observed_is_nothing_estimated(void **state)
{
	struct estimate e = estimates_program(0);

	(void)state;
	for (uint32_t k = 0; k < CALLER_BLOCKS; k++)
		e.proc[CALLER].observed[k] = 0;
	estimates(&e);
	for (uint32_t k = 0; k < CALLER_BLOCKS; k++)
		assert_true(estimates_f(&e, CALLER, k) == 0);
	assert_true(estimates_f(&e, CALLEE, 2) == 0);
	estimate_fini(&e);
}

/* The program, observed as it ran, but block 4 of the caller `apart` times as often; so many windows saw each block. */
static uint8_t confidence(double apart, uint64_t windows)
{
	struct estimate e = estimates_program(1);
	struct site site[CALLER_BLOCKS + CALLEE_BLOCKS] = { 0 };
	uint8_t of;

	for (int i = 0; i < 2; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < e.proc[i].g.nblocks; b++) {
			struct site *s = &site[e.proc[i].first + b];
			double odd = i == CALLER && b == 4 ? apart : 1;

			s->observed = (uint64_t)(1e6 * odd * e.proc[i].observed[b]);
			s->windows = windows;
			e.proc[i].site[b] = s;
			e.proc[i].samples[b] = 100;
		}
	estimates(&e);
	of = e.proc[CALLER].block[4].confidence;
	for (uint32_t b = CFG_FIRST_BLOCK; b < CALLER_BLOCKS; b++)
		if (b != 4)
			assert_int_equal(e.proc[CALLER].block[b].confidence,
					 windows > 400 ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
	estimate_fini(&e);
	return of;
}

/* High: within a logarithm of 0.05; medium: within 0.15. */
static void confidence_needs_agreement(void **state)
{
	(void)state;
	assert_int_equal(confidence(1, 1000000), CONFIDENCE_HIGH);
	assert_int_equal(confidence(1.04, 1000000), CONFIDENCE_HIGH);
	assert_int_equal(confidence(1.06, 1000000), CONFIDENCE_MEDIUM);
	assert_int_equal(confidence(1.15, 1000000), CONFIDENCE_MEDIUM);
	assert_int_equal(confidence(1.17, 1000000), CONFIDENCE_LOW);
	assert_int_equal(confidence(1 / 1.04, 1000000), CONFIDENCE_HIGH);
	assert_int_equal(confidence(1 / 1.17, 1000000), CONFIDENCE_LOW);
}

/* n windows have a relative error of 1 / sqrt(n): 0.0447 of 500, 0.0577 of 300. Errors add up by their squares:
 * 0.0447 and log(1.04) = 0.0392 are 0.0595. */
static void confidence_needs_windows(void **state)
{
	(void)state;
	assert_int_equal(confidence(1, 500), CONFIDENCE_HIGH);
	assert_int_equal(confidence(1, 300), CONFIDENCE_MEDIUM);
	assert_int_equal(confidence(1.04, 500), CONFIDENCE_MEDIUM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(true_observations_are_kept),
		cmocka_unit_test(flow_corrects_what_time_weights),
		cmocka_unit_test(few_windows_shorten_the_reach),
		cmocka_unit_test(unknown_callers_explain_the_rest),
		cmocka_unit_test(scale_makes_no_difference),
		cmocka_unit_test(a_loop_without_an_end_has_a_limit),
		cmocka_unit_test(nothing_observed_is_nothing_estimated),
		cmocka_unit_test(confidence_needs_agreement),
		cmocka_unit_test(confidence_needs_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
