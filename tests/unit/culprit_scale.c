/* SPDX-License-Identifier: MIT */
/*
 * Scales by the model of time, and the bounds of schedules and fetches, on a program made by hand (support/estimates.h).
 * The linker replaces schedules and facts, which have tests of their own, by those that a test sets (Makefile). Each block
 * is one instruction, of one cycle by its schedule unless a test says otherwise.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "culprit/carried.h"
#include "culprit/scale.h"
#include "support/estimates.h"

#define BLOCKS (CALLER_BLOCKS + CALLEE_BLOCKS)
#define ALL_EXPLAINED 1e4 /* cycles that an instruction may have waited for, in all */

static double least[BLOCKS];
static struct fact fact[BLOCKS];
static const struct culprit_machine machine = {
	.retire = 4,
	.mispredict = 20,
	.misses = 10,
	.walks = 4,
	.forward = 12,
	.contended = 80,
	.divide = 30,
};

double __wrap_culprits_least(const struct culprits *c, const struct estimate_proc *p, uint32_t b);
int __wrap_culprits_find_paths(struct culprits *c);
const struct fact *__wrap_paths_placed(struct paths *paths, const struct estimate_proc *p,
				       uint32_t b, uint32_t k);
double __wrap_carried_cycles(const struct culprits *c, const struct estimate_proc *p, uint32_t b);
bool __wrap_carried_to_itself(const struct culprits *c, const struct estimate_proc *p, uint32_t b,
			      uint32_t k);

double __wrap_culprits_least(const struct culprits *c, const struct estimate_proc *p, uint32_t b)
{
	(void)c;
	return least[p->first + b];
}

int __wrap_culprits_find_paths(struct culprits *c)
{
	(void)c;
	return 0;
}

const struct fact *__wrap_paths_placed(struct paths *paths, const struct estimate_proc *p,
				       uint32_t b, uint32_t k)
{
	(void)paths;
	(void)k;
	return &fact[p->first + b];
}

double __wrap_carried_cycles(const struct culprits *c, const struct estimate_proc *p, uint32_t b)
{
	(void)c;
	(void)p;
	(void)b;
	return 0;
}

/* The loop's instruction depends on its last execution. */
bool __wrap_carried_to_itself(const struct culprits *c, const struct estimate_proc *p, uint32_t b,
			      uint32_t k)
{
	(void)c;
	(void)k;
	return p->first == 0 && b == 2;
}

/* The program, of which each instruction takes a cycle. */
static struct estimates_sampled *make(bool joined)
{
	struct estimates_sampled *m = estimates_sampled(joined);

	m->e.method = ESTIMATE_WINDOWS;
	for (int i = 0; i < 2; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < m->e.proc[i].g.nblocks; b++) {
			estimates_sample(m, i, b, 1);
			least[m->e.proc[i].first + b] = 1;
			fact[m->e.proc[i].first + b] = (struct fact){ .front.most = ALL_EXPLAINED };
		}
	return m;
}

/* Fits the scales of an estimate that says that the program ran `wrong` times as often as it did. */
static void fit(struct estimates_sampled *m, double wrong)
{
	struct schedules none = { .of = calloc(m->e.nblocks + 1, sizeof(*none.of)) };
	struct culprits c = {
		.e = &m->e, .machine = machine, .period = ESTIMATES_SAMPLE, .schedules = none
	};

	assert_non_null(none.of);
	m->e.scale = ESTIMATES_RUNS * wrong;
	for (uint32_t i = 0; i < m->e.parts->n; i++)
		m->e.parts->part[i].scale = log(m->e.scale);
	assert_int_equal(scales_fit(&c), 0);
	free(none.of);
}

static void fit_new(struct estimates_sampled *m, double wrong)
{
	assert_int_equal(parts_make(&m->e), 0);
	fit(m, wrong);
}

static struct part *part_at(const struct estimates_sampled *m, int proc)
{
	return &m->e.parts->part[part_of(&m->e, &m->e.proc[proc], 2)];
}

static void is(double a, double b)
{
	if (!estimates_near(a, b, 0.001))
		fail_msg("%g instead of %g", a, b);
}

/* The estimated executions of a procedure over those that the program was made with. */
static double ran(const struct estimates_sampled *m, int proc)
{
	return m->e.scale * estimates_f(&m->e, proc, 2) / ESTIMATES_RUNS /
	       (proc == CALLER ? 1000 : 25);
}

/*
 * What the loop's instruction meets, and the cycles that follow: `own` pass while the block executes; `last` hold up
 * retirement, which is seen in the block behind. That is the loop itself in 9 of 10 cases, and else block 5, because blocks
 * 3 and 4 have no second instruction; block 5 is executed once in ten executions of the loop.
 */
static const struct {
	struct fact f;
	double own, last;
} meets[] = {
	{ { .load = true }, 1, 0 },
	/* a load waits for its line and its page, if windows saw where it loads from */
	{ { .load = true, .located = true, .dcache.likely = 100 }, 1, 100 },
	{ { .load = true, .located = true, .dtlb.likely = 30 }, 1, 30 },
	{ { .load = true, .dcache.likely = 100, .dtlb.likely = 30 }, 1, 0 },
	/* prefetched lines and pages move while instructions execute: the longer of both counts */
	{ { .load = true, .located = true, .dcache.likely = 40, .hide_line.stream = true }, 40, 0 },
	{ { .load = true, .located = true, .dtlb.likely = 30, .hide_page.stream = true }, 30, 0 },
	/* those of stores, too, as many at a time as the machine can have under way: 10 and 4 */
	{ { .located = true, .dcache.likely = 100, .hide_line.overlap = 2 }, 20, 0 },
	{ { .located = true, .dtlb.likely = 30, .hide_page.overlap = 2 }, 15, 0 },
	/* half of the executions fail to be forwarded, 12 cycles each, if windows judged that */
	{ { .judged = true, .forward.likely = 0.5 }, 1, 6 },
	{ { .forward.likely = 0.5 }, 1, 0 },
	{ { .icache.likely = 7 }, 1, 7 },
	{ { .itlb.likely = 5 }, 1, 5 },
	{ { .front.likely = 2 }, 1, 2 },
	{ { .contended.likely = 0.25 }, 1, 20 },
	{ { .divides = true }, 1, 30 },
	/* one in 20 mispredicted: until it is resolved, that is seen in the block itself */
	{ { .mispredicted.likely = 0.05, .ready = 8 }, 1.4, 1 },
};

/* Whatever the estimate was before, the time tells how often the program ran. */
static void what_instructions_meet_takes_its_time(void **state)
{
	static const double wrong[] = { 1, 10, 0.1 };

	(void)state;
	for (size_t i = 0; i < sizeof(meets) / sizeof(meets[0]); i++)
		for (int k = 0; k < 3; k++) {
			struct estimates_sampled *m = make(true);

			fact[2] = meets[i].f;
			fact[2].front.most = ALL_EXPLAINED;
			estimates_sample(m, CALLER, 2, meets[i].own + 0.9 * meets[i].last);
			estimates_sample(m, CALLER, 5, 1 + meets[i].last);
			fit_new(m, wrong[k]);
			if (!estimates_near(ran(m, CALLER), 1, 0.001))
				fail_msg("case %zu: %g", i, ran(m, CALLER));
			is(ran(m, CALLEE), 1);
			estimates_drop(m);
		}
}

/* A block of which the model is wrong does not decide: the callee takes 225 cycles, 9 times as long as modelled, and counts as 75
 * beside 1200 of the other blocks. exp(75 / 1275 * log 9) = 1.1380. */
static void blocks_count_by_both_their_times(void **state)
{
	struct estimates_sampled *m = make(true);

	(void)state;
	estimates_sample(m, CALLEE, 2, 9);
	fit_new(m, 1);
	is(ran(m, CALLER), 1.1380);
	estimates_drop(m);
}

/* The end of a procedure is seen there: a cycle, a load that waits 100, one in 20 mispredicted, which costs 8 cycles and 20. */
static void what_ends_a_procedure_is_seen_there(void **state)
{
	struct estimates_sampled *m = make(true);

	(void)state;
	fact[CALLER_BLOCKS + 2].load = fact[CALLER_BLOCKS + 2].located = true;
	fact[CALLER_BLOCKS + 2].dcache.likely = 100;
	fact[CALLER_BLOCKS + 2].mispredicted.likely = 0.05;
	fact[CALLER_BLOCKS + 2].ready = 8;
	estimates_sample(m, CALLEE, 2, 1 + 100 + 0.05 * (8 + 20));
	fit_new(m, 10);
	is(ran(m, CALLER), 1);
	estimates_drop(m);
}

/* A block takes its schedule, but no more instructions retire in a cycle than four. */
static void schedules_take_their_time(void **state)
{
	static const double schedule[] = { 3, 0.1 }, cycles[] = { 3, 0.25 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct estimates_sampled *m = make(true);

		least[2] = schedule[i];
		estimates_sample(m, CALLER, 2, cycles[i]);
		fit_new(m, 10);
		is(ran(m, CALLER), 1);
		estimates_drop(m);
	}
}

/* Of two parts, of which the callee takes so many cycles an execution. `tied`: windows saw hardly any control between
 * them, by which the parts say nothing of each other, but samples of one may be strays of the other. */
static struct estimates_sampled *make_parts(double cycles, bool tied)
{
	struct estimates_sampled *m = make(false);
	struct parts *k;

	estimates_sample(m, CALLEE, 2, cycles);
	assert_int_equal(parts_make(&m->e), 0);
	k = m->e.parts;
	assert_int_equal(k->nties, 0);
	k->tie = calloc(1, sizeof(*k->tie));
	assert_non_null(k->tie);
	k->tie[0] = (struct part_tie){ .a = (uint32_t)(part_at(m, CALLER) - k->part),
				       .b = (uint32_t)(part_at(m, CALLEE) - k->part),
				       .passed = 1e-9 };
	k->nties = tied;
	return m;
}

/*
 * Two parts: 53333 samples of the caller, by the model as it ran; 3333 of the callee, three times as often. Each scale has
 * the variance 0.25 of the model, and 1 / samples. The usual scale is the mean by samples, log 0.0646, and parts vary around
 * it by 0.0668. The caller's is (0.0646 / 0.3168 + 0 / 0.25) / (1 / 0.3168 + 1 / 0.25) = 0.0285, the callee's (0.0646 / 0.3171
 * + 1.0986 / 0.2503) / (1 / 0.3171 + 1 / 0.2503) = 0.6425, of the variance 1 / 7.148; intervals hold if variances are 1.44
 * times as large.
 *
 * With strays, and 13333 samples of the callee, which would be 12 times as often: the usual scale is 0.2 * log 12 = 0.497,
 * parts vary by 0.988. The callee has a quarter of the caller's samples, so 0.1 * 4 of its own may be strays, and its variance
 * is 4 * 0.4 = 1.6 more; the caller's is 0.1 more. The scales are (0.497 / 1.338) / (1 / 1.338 + 1 / 0.35) = 0.1031 and
 * (0.497 / 2.838 + 2.485 / 1.85) / (1 / 2.838 + 1 / 1.85) = 1.7004, of the variance 1 / 0.8929.
 */
static void parts_are_drawn_to_the_usual_scale(void **state)
{
	static const double cycles[] = { 3, 12 }, caller[] = { 1.02892, 1.10855 },
			    callee[] = { 1.9012, 5.4762 },
			    variance[] = { 1.44 / 7.1485, 1.44 / 0.89288 };

	(void)state;
	for (int tied = 0; tied < 2; tied++) {
		struct estimates_sampled *m = make_parts(cycles[tied], tied);

		fit(m, 1);
		is(ran(m, CALLER), caller[tied]);
		is(ran(m, CALLEE), callee[tied]);
		is(part_at(m, CALLEE)->variance, variance[tied]);
		estimates_drop(m);
	}
}

/* The callee has so few samples beside the caller that its scale is about as much the usual one as its own. Bounds hold
 * for it alone: where it takes half a cycle, its schedule of one fits 1.3 * 0.5 times, less than the root of a half; where it
 * takes 9 cycles, of which its schedule and what it may have met explain 2, it ran 4.5 times as often, more than 3. */
static void bounds_hold_for_each_part(void **state)
{
	struct estimates_sampled *m = make_parts(0.5, true);

	(void)state;
	fit(m, 1);
	is(ran(m, CALLEE), 0.65);
	estimates_drop(m);
	m = make_parts(9, true);
	fact[CALLER_BLOCKS + 2].front.most = 1;
	fit(m, 1);
	is(ran(m, CALLEE), 4.5);
	estimates_drop(m);
}

/* Strings take any time: theirs tells nothing of the scale. It is half of the samples here, so the model's variance is 0.25 and
 * 4 / 2. The usual scale is the same, as sure: the variance is half of that, times 1.44. */
static void strings_say_nothing(void **state)
{
	struct estimates_sampled *m = make(true);

	(void)state;
	fact[5].string = true;
	estimates_sample(m, CALLER, 5, 11.25);
	fit_new(m, 1);
	is(ran(m, CALLER), 1);
	is(part_at(m, CALLER)->variance, 1.44 * 2.25 / 2);
	estimates_drop(m);
}

static void what_the_program_counts_stays(void **state)
{
	static const double wrong[] = { 10, 0.1 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct estimates_sampled *m = make(true);
		struct part *k;

		assert_int_equal(parts_make(&m->e), 0);
		k = part_at(m, CALLER);
		k->counted = true;
		k->weight = 100;
		k->sum = 100 * log(ESTIMATES_RUNS * wrong[i]);
		fit(m, wrong[i]);
		is(ran(m, CALLER), wrong[i]);
		is(part_at(m, CALLER)->variance, 0.01);
		estimates_drop(m);
	}
}

/* Without the model: schedules take at most 1.3 times the time that passed. */
static void schedules_fit_into_the_time(void **state)
{
	static const double wrong[] = { 1.2, 1.4, 100 }, fits[] = { 1.2, 1.3, 1.3 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct estimates_sampled *m = make(true);

		m->e.method = ESTIMATE_DCPI;
		fit_new(m, wrong[i]);
		is(ran(m, CALLER), fits[i]);
		estimates_drop(m);
	}
}

/* Without the model: executions are so many that half of the time can be explained. The loop takes 4 cycles, of which its
 * schedule and what it may have met explain 2; that is 4000 of the cycles, and what else takes 3825 or 4025 is explained. */
static void half_of_the_time_is_explained(void **state)
{
	static const struct {
		double others, wrong, fits;
	} cases[] = { { 37, 0.01, 2 }, { 37, 1.9, 2 }, { 37, 2.1, 2.1 }, { 39, 0.5, 0.5 } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct estimates_sampled *m = make(true);

		m->e.method = ESTIMATE_DCPI;
		estimates_sample(m, CALLER, 2, 4);
		estimates_sample(m, CALLER, 5, cases[i].others);
		fact[2].front.most = 1;
		fit_new(m, cases[i].wrong);
		is(ran(m, CALLER), cases[i].fits);
		estimates_drop(m);
	}
}

/*
 * Nothing hides fetches. Of two blocks that ran equally often, one takes 10 cycles where its fetches and schedule need 100,
 * the other 100,000 where its schedule needs 1. By the model, the longer time decides, and the program ran tens of thousands of
 * times as often; but all fetches and schedules together take at most 1.3 * 100,010 cycles, and 101 for each execution.
 */
static void fetches_bound_executions(void **state)
{
	struct estimates_sampled *m = make(true);

	(void)state;
	m->e.proc[CALLEE].block[2].f = 0;
	estimates_sample(m, CALLEE, 2, 1);
	for (uint32_t b = CFG_FIRST_BLOCK; b < CALLER_BLOCKS; b++) {
		m->e.proc[CALLER].block[b].f = b == 2 || b == 4 ? 1000 : 0;
		estimates_sample(m, CALLER, b, b == 2 ? 10 : 100000);
	}
	fact[2].icache.likely = 90;
	fact[2].itlb.likely = 9;
	fit_new(m, 1);
	is(ran(m, CALLER), 1.3 * 100010 / 101);
	estimates_drop(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_instructions_meet_takes_its_time),
		cmocka_unit_test(what_ends_a_procedure_is_seen_there),
		cmocka_unit_test(schedules_take_their_time),
		cmocka_unit_test(blocks_count_by_both_their_times),
		cmocka_unit_test(parts_are_drawn_to_the_usual_scale),
		cmocka_unit_test(bounds_hold_for_each_part),
		cmocka_unit_test(strings_say_nothing),
		cmocka_unit_test(what_the_program_counts_stays),
		cmocka_unit_test(schedules_fit_into_the_time),
		cmocka_unit_test(half_of_the_time_is_explained),
		cmocka_unit_test(fetches_bound_executions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
