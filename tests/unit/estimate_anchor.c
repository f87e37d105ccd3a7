/* SPDX-License-Identifier: MIT */
/* Anchors by time: how often a program ran in all, from its samples. The program and its recording are made by hand
 * (support/estimates.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "estimate/anchor.h"
#include "support/estimates.h"

/* The scale of a program that is one part, whose frequencies therefore stay. Drops the recording. */
static double scale_of(struct estimates_sampled *m)
{
	double before = estimates_f(&m->e, CALLER, 2), scale;

	estimates_anchor(m);
	scale = m->e.scale;
	assert_true(estimates_near(estimates_f(&m->e, CALLER, 2), before, 0.001));
	estimates_drop(m);
	return scale;
}

static void is(double a, double b)
{
	if (!estimates_near(a, b, 0.001))
		fail_msg("%g instead of %g", a, b);
}

static void usual_times_tell_executions(void **state)
{
	struct estimates_sampled *m = estimates_sampled(true);

	(void)state;
	estimates_mispredict(m);
	is(scale_of(m), ESTIMATES_RUNS);
	m = estimates_sampled(true);
	estimates_mispredict(m);
	estimates_take(m, 3);
	is(scale_of(m), 3 * ESTIMATES_RUNS);
}

/* Without mispredictions the whole program would have run twice as often as most of its instructions: 4000 against 2000,
 * log 2 = 0.693 apart. The whole counts 0.7 of its distance, less where it is far: by 1 + 0.693^2 / 2.5^2 = 1.077.
 * exp(0.7 * 0.693 / 1.077) = 1.569. */
static void both_times_are_weighed(void **state)
{
	(void)state;
	is(scale_of(estimates_sampled(true)), 1.569 * ESTIMATES_RUNS);
}

/* Blocks 3 to 5, 200 of 1225 executions, take a hundred times as long, so the whole takes 21025 / 1225 = 17.16 times as long:
 * 34.33 times what is usual without mispredictions, log 3.536. exp(0.7 * 3.536 / (1 + 3.536^2 / 2.5^2)) = 2.281. */
static void what_few_instructions_wait_for_hardly_counts(void **state)
{
	struct estimates_sampled *m = estimates_sampled(true);

	(void)state;
	for (uint32_t b = 3; b < CALLER_BLOCKS; b++)
		estimates_sample(m, CALLER, b, 100 * ESTIMATES_CYCLES);
	is(scale_of(m), 2.281 * ESTIMATES_RUNS);
}

/* The scale of the caller alone, of which a share of the executions takes ten times as long. */
static double scale_of_slow(double share)
{
	struct estimates_sampled *m = estimates_sampled(true);
	struct estimate_proc *p = &m->e.proc[CALLER];

	for (uint32_t b = CFG_FIRST_BLOCK; b < CALLER_BLOCKS; b++)
		p->block[b].f = b == 2 ? 1000 * (1 - share) : b == 4 ? 1000 * share : 0;
	for (uint32_t b = CFG_FIRST_BLOCK; b < CALLER_BLOCKS; b++)
		estimates_sample(m, CALLER, b, (b == 4 ? 10 : 1) * ESTIMATES_CYCLES);
	m->e.proc[CALLEE].block[2].f = 0;
	estimates_sample(m, CALLEE, 2, 0);
	return scale_of(m);
}

/* Seven in ten executed instructions tell what an instruction takes. */
static void most_instructions_tell(void **state)
{
	(void)state;
	/* Fast ones decide. The mean is 0.72 * 1 + 0.28 * 10 = 3.52 times 0.36, 7.04 times 0.18: log 1.952 apart, and
	 * exp(0.7 * 1.952 / (1 + 1.952^2 / 2.5^2)) = 2.337. */
	is(scale_of_slow(0.28), 2.337 * ESTIMATES_RUNS);
	/* Slow ones decide: 10. The mean is 0.68 + 3.2 = 3.88 times 0.36, 7.76 times 0.18, which is less: log -0.2536, and
	 * exp(-0.7 * 0.2536 / (1 + 0.2536^2 / 2.5^2)) = 0.8389. */
	is(scale_of_slow(0.32), 8.389 * ESTIMATES_RUNS);
}

/* The callee runs 120 times, and its instruction takes ten times as long: both procedures have half of the time, so their
 * mean is the root of 10, 3.162. All 1320 instructions take 2 * 0.36 * 1200 / 1320 = 0.6545 cycles, 3.636 times 0.18: log
 * 0.1397 more than that mean, and 3.162 * exp(0.7 * 0.1397 / (1 + 0.1397^2 / 2.5^2)) = 3.486. */
static void procedures_count_by_their_time(void **state)
{
	struct estimates_sampled *m = estimates_sampled(true);

	(void)state;
	m->e.proc[CALLEE].block[2].f = 120;
	estimates_sample(m, CALLEE, 2, 10 * ESTIMATES_CYCLES);
	is(scale_of(m), 3.486 * ESTIMATES_RUNS);
}

/* Without the branch, whose mispredictions would take 0.18 cycles an instruction, the whole takes twice what is usual;
 * were twice as many mispredicted, 0.36 / (0.18 + 0.36) = 2/3: log -0.4055, and exp(-0.7 * 0.4055 / (1 + 0.4055^2 / 2.5^2))
 * = 0.7584. */
static void mispredicted_branches_take_their_time(void **state)
{
	struct estimates_sampled *m = estimates_sampled(true);
	struct site *s = &m->site[2];

	(void)state;
	estimates_mispredict(m);
	s->taken -= s->observed - s->taken;
	is(scale_of(m), 0.7584 * ESTIMATES_RUNS);
}

/* The program whose loop is one block of four instructions that have so many samples each, of `runs` executions. */
static struct estimates_sampled *make_long(const uint64_t samples[4], double runs)
{
	static struct site in_block[4];
	struct estimates_sampled *m = estimates_sampled(true);
	struct estimate_proc *q = &m->e.proc[CALLER];

	free(q->site);
	q->site = calloc(4 + CALLER_BLOCKS, sizeof(*q->site));
	assert_non_null(q->site);
	q->samples[2] = 0;
	for (uint32_t i = 0; i < 4; i++) {
		in_block[i] = (struct site){ .samples = samples[i] };
		q->site[i] = &in_block[i];
		q->samples[2] += (double)samples[i];
	}
	for (uint32_t b = 3; b < CALLER_BLOCKS; b++) {
		q->g.block[b].insn = 4 + b - 3;
		q->site[4 + b - 3] = &m->site[b];
	}
	q->g.block[2].insn = 0;
	q->g.block[2].ninsn = 4;
	q->g.ninsns = 7;
	q->block[2].f = runs;
	return m;
}

/* Where in a block samples fall does not matter: instructions retire together. */
static void blocks_share_their_samples(void **state)
{
	const uint64_t one =
		(uint64_t)(1000 * ESTIMATES_RUNS * ESTIMATES_CYCLES / ESTIMATES_SAMPLE);
	const uint64_t even[] = { one, one, one, one }, chance[] = { 3 * one, 0, 0, one };

	(void)state;
	is(scale_of(make_long(even, 1000)), 1.569 * ESTIMATES_RUNS);
	is(scale_of(make_long(chance, 1000)), 1.569 * ESTIMATES_RUNS);
}

/* The loop runs as often as a block that takes ten times as long, but has four of five instructions, and so decides. The mean
 * is 0.8 + 2 = 2.8 times 0.36, 5.6 times 0.18: log 1.7228, and exp(0.7 * 1.7228 / (1 + 1.7228^2 / 2.5^2)) = 2.265. */
static void blocks_count_by_their_instructions(void **state)
{
	const uint64_t one =
		(uint64_t)(1000 * ESTIMATES_RUNS * ESTIMATES_CYCLES / ESTIMATES_SAMPLE);
	struct estimates_sampled *m = make_long((const uint64_t[]){ one, one, one, one }, 1000);

	(void)state;
	for (uint32_t b = 3; b < CALLER_BLOCKS; b++) {
		m->e.proc[CALLER].block[b].f = b == 4 ? 1000 : 0;
		estimates_sample(m, CALLER, b, 10 * ESTIMATES_CYCLES);
	}
	m->e.proc[CALLEE].block[2].f = 0;
	estimates_sample(m, CALLEE, 2, 0);
	is(scale_of(m), 2.265 * ESTIMATES_RUNS);
}

static void a_sample_stands_for_its_cycles(void **state)
{
	struct estimates_sampled *m = estimates_sampled(true);
	struct run *run = &m->p.run[0];

	(void)state;
	is(anchor_cycles(&m->p), ESTIMATES_SAMPLE);
	free(run->unit);
	run->unit = strdup("ns"); /* at 2 GHz, measured */
	run->clock = 2000000000;
	is(anchor_cycles(&m->p), 2 * ESTIMATES_SAMPLE);
	estimates_drop(m);
}

static void a_clock_is_measured_or_of_the_cpus_name(void **state)
{
	char xeon[] = "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", epyc[] = "AMD EPYC";
	char absurd[] = "x @ 1e9";

	(void)state;
	assert_true(anchor_ghz(&(struct run){ .cpu = xeon }) == 2.5);
	assert_true(anchor_ghz(&(struct run){ .cpu = xeon, .clock = 3100000000 }) == 3.1);
	assert_true(anchor_ghz(&(struct run){ .cpu = epyc }) == ANCHOR_GHZ);
	assert_true(anchor_ghz(&(struct run){ .cpu = absurd }) == ANCHOR_GHZ);
	assert_true(anchor_ghz(&(struct run){ .cpu = NULL }) == ANCHOR_GHZ);
	assert_true(anchor_ghz(NULL) == ANCHOR_GHZ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_times_tell_executions),
		cmocka_unit_test(both_times_are_weighed),
		cmocka_unit_test(what_few_instructions_wait_for_hardly_counts),
		cmocka_unit_test(most_instructions_tell),
		cmocka_unit_test(procedures_count_by_their_time),
		cmocka_unit_test(mispredicted_branches_take_their_time),
		cmocka_unit_test(blocks_share_their_samples),
		cmocka_unit_test(blocks_count_by_their_instructions),
		cmocka_unit_test(a_sample_stands_for_its_cycles),
		cmocka_unit_test(a_clock_is_measured_or_of_the_cpus_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
