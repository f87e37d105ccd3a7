/* SPDX-License-Identifier: MIT */
/* Counts of an exact run in place of estimates, for a program made by hand (support/estimates.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/estimates.h"

#define EXACT 1e-4

/* An exact run of the caller: as it ran, 2000 times, but for block 3, which never did. Instructions are at 1, 2, 3, ...;
 * the callee's image was not counted. */
static bool counts_of_caller(void *ctx, uint32_t image, uint64_t addr, struct estimate_count *n)
{
	static const double executed[] = { 0, 0, 1000, 0, 100, 100 };

	(void)ctx;
	*n = (struct estimate_count){ ESTIMATES_RUNS * executed[addr],
				      addr == 2 ? ESTIMATES_RUNS * 900 : 0 };
	return image == 0;
}

static const struct estimate_source src = { .count = counts_of_caller };

/* The estimate of the program, at a scale that is a quarter of the true one. */
static struct estimate estimated(void)
{
	struct estimate e = estimates_program(1);
	struct err err = { 0 };

	for (uint32_t i = 0; i < 2; i++) {
		struct cfg *g = &e.proc[i].g;

		e.proc[i].image = i;
		g->insn = calloc(g->ninsns, sizeof(*g->insn));
		assert_non_null(g->insn);
		for (uint32_t k = 2; k < g->ninsns; k++)
			g->insn[k] = (struct cfg_insn){ .addr = k, .len = 1 };
	}
	/* block 2 is a branch, taken to itself */
	e.proc[CALLER].g.block[2].ends = CFG_END_BRANCH;
	e.proc[CALLER].g.edge[2].kind = CFG_TAKEN;
	assert_int_equal(walk_estimate(&e, &err), 0);
	for (uint32_t b = CFG_FIRST_BLOCK; b < CALLER_BLOCKS; b++)
		e.proc[CALLER].samples[b] = 10;
	e.scale = ESTIMATES_RUNS / 4;
	return e;
}

static void count(struct estimate *e)
{
	struct err err = { 0 };

	assert_int_equal(counted_estimate(e, &src, &err), 0);
}

static void is(double a, double b)
{
	if (!estimates_near(a, b, EXACT))
		fail_msg("%g instead of %g", a, b);
}

static void what_an_exact_run_counted_replaces_estimates(void **state)
{
	struct estimate e = estimated();
	const struct estimate_proc *p = &e.proc[CALLER];

	(void)state;
	e.proc[CALLER].block[4].f = 1; /* estimated wrongly; the median of the scales is right */
	is(estimate_counted_scale(&e, &src), ESTIMATES_RUNS);
	count(&e);
	is(e.scale, ESTIMATES_RUNS);
	is(estimates_f(&e, CALLER, 2) * e.scale, 1000 * ESTIMATES_RUNS);
	is(estimates_f(&e, CALLER, 4) * e.scale, 100 * ESTIMATES_RUNS);
	assert_int_equal(p->block[4].confidence, CONFIDENCE_HIGH);
	is(p->edge[2].f * e.scale, 900 * ESTIMATES_RUNS);
	is(p->edge[1].f * e.scale, 100 * ESTIMATES_RUNS);
	/* it has samples, so it ran, whatever the exact run did */
	is(estimates_f(&e, CALLER, 3), 25);
	assert_int_equal(p->block[3].confidence, CONFIDENCE_LOW);
	/* of an image that was not counted */
	is(estimates_f(&e, CALLEE, 2), 25);
	estimate_fini(&e);
}

/* How often the exact run did the work of the sampled one, if the program counts block 2 itself, which has that many of 1000
 * samples. */
static double apart_where(double samples)
{
	struct estimate e = estimated();
	struct estimate_proc *p = &e.proc[CALLER];
	uint32_t other = part_of(&e, p, CFG_EXIT_BLOCK), loop = part_of(&e, p, 2);
	double apart;

	assert_true(other != loop);
	for (uint32_t b = CFG_FIRST_BLOCK; b < CALLER_BLOCKS; b++)
		p->samples[b] = b == 2 ? samples : b == 4 ? 1000 - samples : 0;
	e.parts->of[p->first + 4] = other;
	e.parts->part[loop].counted = true;
	count(&e);
	apart = e.apart;
	estimate_fini(&e);
	return apart;
}

/* It is said only where the parts that the program counts have a tenth of the samples. */
static void how_often_the_work_was_done_needs_counting_parts(void **state)
{
	(void)state;
	is(apart_where(1000), 4);
	is(apart_where(101), 4);
	assert_true(apart_where(99) == 0);
}

static void where_nothing_was_counted_all_stays(void **state)
{
	struct estimate e = estimated();

	(void)state;
	e.proc[CALLER].image = 1;
	assert_true(estimate_counted_scale(&e, &src) == 0);
	count(&e);
	assert_true(e.scale == ESTIMATES_RUNS / 4 && e.apart == 0);
	is(estimates_f(&e, CALLER, 2), 1000);
	estimate_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_exact_run_counted_replaces_estimates),
		cmocka_unit_test(how_often_the_work_was_done_needs_counting_parts),
		cmocka_unit_test(where_nothing_was_counted_all_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
