/* SPDX-License-Identifier: MIT */
/* Anchors by counters of the program itself, beside what times tell, and what confidence follows. The program and its
 * recording are made by hand (support/estimates.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observe/tallies.h"
#include "support/estimates.h"
#include "x86/insn.h"

static void is(double a, double b)
{
	if (!estimates_near(a, b, 0.001))
		fail_msg("%g instead of %g", a, b);
}

/* The instruction of a procedure's block 2 counts down by twos. Of 1000 gaps in which the word advanced, and `back` more, those
 * ended in a reset. */
static void count(struct estimates_sampled *m, int proc, uint64_t back)
{
	const double runs = estimates_f(&m->e, proc, 2) * ESTIMATES_RUNS;
	struct site_id id = { .addr = proc == CALLEE ? ESTIMATES_CALLEE_AT : ESTIMATES_CALLER_AT };
	struct tally *t = tallies_get(&m->p, id);
	struct site *s = profile_site(&m->p, id);
	struct tally_gaps *gaps = tally_own_gaps(t);

	assert_true(s && gaps);
	s->cls = INSN_RMW;
	t->step = -2;
	t->agreed = t->seen = 1000;
	gaps[5] = (struct tally_gaps){ .n = 1000,
				       .time = 1000000,
				       .back = back,
				       .back_time = 1000 * back,
				       .advance = 2 * runs * 1000 / (1000 + (double)back) };
}

static double executions(const struct estimates_sampled *m, int proc)
{
	return m->e.scale * estimates_f(&m->e, proc, 2);
}

/* Where the program counts in each procedure, times make no difference. */
static void counts_are_exact(void **state)
{
	static const double times[] = { 1, 2, 0.5 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct estimates_sampled *m = estimates_sampled(true);

		estimates_mispredict(m);
		estimates_take(m, times[i]);
		count(m, CALLEE, 0);
		count(m, CALLER, 0);
		estimates_anchor(m);
		is(executions(m, CALLEE), 25 * ESTIMATES_RUNS);
		is(executions(m, CALLER), 1000 * ESTIMATES_RUNS);
		assert_int_equal(m->e.counted, 2);
		estimates_drop(m);
	}
}

/*
 * A count in one procedure says less of the other one in the same part, which has 1200 / 1225 = 0.98 of the samples: its
 * variance is 0.3^2 * 0.98, the certainty 11.34, beside which times have the certainty 0.98. Where times say 1.5 times as
 * much, the scale is 1.5^(0.98 / (11.34 + 0.98)) = 1.5^0.0795 = 1.0328 times the counted one; 0.5^0.0795 = 0.9464.
 */
static void counts_are_surer_than_times(void **state)
{
	static const double times[] = { 1, 1.5, 0.5 }, scale[] = { 1, 1.0328, 0.9464 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct estimates_sampled *m = estimates_sampled(true);

		estimates_mispredict(m);
		estimates_take(m, times[i]);
		count(m, CALLEE, 0);
		estimates_anchor(m);
		is(executions(m, CALLER), 1000 * ESTIMATES_RUNS * scale[i]);
		is(executions(m, CALLEE), 25 * ESTIMATES_RUNS * scale[i]);
		estimates_drop(m);
	}
}

/* Whether a count is used if the program took `times` the usual time. */
static bool is_used(double times)
{
	struct estimates_sampled *m = estimates_sampled(true);
	bool used;

	estimates_mispredict(m);
	estimates_take(m, times);
	count(m, CALLEE, 0);
	count(m, CALLER, 0);
	estimates_anchor(m);
	used = m->e.counted > 0;
	is(executions(m, CALLER), 1000 * ESTIMATES_RUNS * (used ? 1 : times));
	estimates_drop(m);
	return used;
}

/* What says less than time by a factor of 4.48 (log 1.5) counts one object of many. What says that an instruction takes less
 * than 0.1 cycles, 3.6 times less than here, counts something else, too. */
static void a_count_that_times_contradict_is_not_used(void **state)
{
	(void)state;
	assert_true(is_used(4.4));
	assert_false(is_used(4.6));
	assert_true(is_used(1 / 3.5));
	assert_false(is_used(1 / 3.7));
}

/* From one reset in 20 gaps on, the loop may have begun anew more often: 52 of 1052 are fewer, 54 of 1054 more. */
static void what_often_begins_anew_is_judged_later(void **state)
{
	(void)state;
	for (uint64_t back = 52; back <= 54; back += 2) {
		struct estimates_sampled *m = estimates_sampled(true);
		const struct part_turns *t;
		uint32_t part;

		estimates_mispredict(m);
		estimates_take(m, 2);
		count(m, CALLEE, back);
		estimates_anchor(m);
		part = part_of(&m->e, &m->e.proc[CALLEE], 2);
		assert_int_equal(m->e.parts->part[part].counted, back == 52);
		assert_int_equal(m->e.parts->nturns, back == 54);
		t = m->e.parts->turns;
		if (back == 54) {
			assert_int_equal(t->part, part);
			is(exp(t->scale), ESTIMATES_RUNS);
			is(t->often, 54. / 1054);
			is(t->gaps, 1054);
			/* a quarter of the resets, as an error; and 5 over the windows, a million */
			is(t->variance, pow(54. / 1054 / 4, 2) + 5e-6);
			is(executions(m, CALLER), 2 * 1000 * ESTIMATES_RUNS);
		}
		estimates_drop(m);
	}
}

/*
 * Two parts between which windows saw no control: the callee counts, the program took twice the usual time. The usual scale
 * is the mean of the counted one, of the certainty 1 / 0.3^2 = 11.11, and of time's, of the certainty 1:
 * 2^(1 / 12.11) = 1.0589 of the counted one. The caller has that, with the variance 0.1 and the counted part's distance
 * of log 1.0589 = 0.0572, squared: 0.1033. Where only 9 windows saw the callee, its count has the variance 5 / 10 more: the
 * certainty is 1 / 0.59 = 1.695, and 2^(1 / 2.695) = 1.2933.
 */
static void others_have_the_usual_scale(void **state)
{
	static const uint64_t windows[] = { 1000000, 9 };
	static const double scale[] = { 1.0589, 1.2933 }, variance[] = { 0.10328, 0.1 + 0.06614 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct estimates_sampled *m = estimates_sampled(false);
		const struct part *p;

		estimates_mispredict(m);
		estimates_take(m, 2);
		m->site[CALLER_BLOCKS + 2].windows = windows[i];
		count(m, CALLEE, 0);
		estimates_anchor(m);
		is(executions(m, CALLEE), 25 * ESTIMATES_RUNS);
		is(executions(m, CALLER), 1000 * ESTIMATES_RUNS * scale[i]);
		p = &m->e.parts->part[part_of(&m->e, &m->e.proc[CALLER], 2)];
		assert_false(p->counted);
		is(exp(p->scale), ESTIMATES_RUNS * scale[i]);
		is(p->variance, variance[i]);
		estimates_drop(m);
	}
}

/* The confidence in the callee, which has 2 % of the time and takes `slow` times as long. */
static uint8_t confidence(double slow, bool counted)
{
	struct estimates_sampled *m = estimates_sampled(true);
	struct estimate_proc *p = &m->e.proc[CALLEE];
	uint8_t of;

	p->block[2].confidence = p->edge[1].confidence = CONFIDENCE_HIGH;
	p->alone[2] = CONFIDENCE_MEDIUM;
	estimates_sample(m, CALLEE, 2, slow * ESTIMATES_CYCLES);
	if (counted)
		count(m, CALLEE, 0);
	estimates_anchor(m);
	of = p->block[2].confidence;
	/* an edge is no surer than the block that it leaves, or than it was */
	assert_int_equal(p->edge[1].confidence, of);
	estimates_drop(m);
	return of;
}

/* 0.6 of the logarithm of the deviation from the mean, which is 2 % nearer, is an error: 0.05 is high, 0.15 medium confidence.
 * These are factors of 1.089 and 1.292. */
static void what_takes_unusually_long_is_doubtful(void **state)
{
	(void)state;
	assert_int_equal(confidence(1, false), CONFIDENCE_HIGH);
	assert_int_equal(confidence(1.08, false), CONFIDENCE_HIGH);
	assert_int_equal(confidence(1.10, false), CONFIDENCE_MEDIUM);
	assert_int_equal(confidence(1.28, false), CONFIDENCE_MEDIUM);
	assert_int_equal(confidence(1.31, false), CONFIDENCE_LOW);
	assert_int_equal(confidence(0.93, false), CONFIDENCE_HIGH);
	assert_int_equal(confidence(0.90, false), CONFIDENCE_MEDIUM);
	assert_int_equal(confidence(0.76, false), CONFIDENCE_LOW);
	/* what counts is as sure as its frequencies are */
	assert_int_equal(confidence(1.31, true), CONFIDENCE_MEDIUM);
}

static void without_samples_there_is_no_anchor(void **state)
{
	struct estimates_sampled *m = estimates_sampled(true);

	(void)state;
	count(m, CALLEE, 0);
	for (int i = 0; i < 2; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < m->e.proc[i].g.nblocks; b++)
			estimates_sample(m, i, b, 0);
	m->e.scale = 3;
	estimates_anchor(m);
	assert_true(m->e.scale == 3);
	estimates_drop(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(counts_are_surer_than_times),
		cmocka_unit_test(a_count_that_times_contradict_is_not_used),
		cmocka_unit_test(what_often_begins_anew_is_judged_later),
		cmocka_unit_test(others_have_the_usual_scale),
		cmocka_unit_test(what_takes_unusually_long_is_doubtful),
		cmocka_unit_test(without_samples_there_is_no_anchor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
