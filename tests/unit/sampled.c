/* SPDX-License-Identifier: MIT */
/* Totals of exact runs of which parts were observed, how far they may be off, and whether two runs are the same; rows of
 * counts at sites. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observe/rows.h"
#include "observe/sampled.h"
#include "x86/insn.h"

static void is(double a, double b)
{
	if (!(fabs(a - b) <= 1e-6 * fabs(b)))
		fail_msg("%.9g instead of %.9g", a, b);
}

static struct sampled *begin(struct profile *p)
{
	struct err err = { 0 };
	struct sampled *s;

	assert_int_equal(profile_init(p, &err), 0);
	assert_non_null(profile_run(p));
	s = sampled_new(p, "every tenth");
	assert_non_null(s);
	return s;
}

static struct sample_batch *batch(struct sampled *s, double weight, uint64_t instructions,
				  uint64_t taken)
{
	struct sample_batch *b = sampled_batch(s);
	struct sample one = { .number = 10 + s->nbatch,
			      .begin = 1000 * s->nbatch,
			      .batch = (uint32_t)s->nbatch - 1 };

	assert_non_null(b);
	b->weight = weight;
	b->n[SAMPLED_INSTRUCTIONS] = instructions;
	b->n[SAMPLED_TAKEN] = taken;
	assert_int_equal(sampled_add(s, &one), 0);
	return b;
}

/*
 * 120 of 1000 instructions, 0.12 each, by three batches: these counted 10, 10 and 20 where that rate predicts 12, 24 and 12.
 * Weighted, they are off by -4, -28 and 32. 3 / 2 of the sum of squares, 1824, is 2736; of three batches, Student's t is
 * 4.303: the total may be off by 4.303 * sqrt(2736).
 */
static void batches_tell_how_far_a_total_is_off(void **state)
{
	struct profile p;
	struct sampled *s = begin(&p);
	double error;

	(void)state;
	batch(s, 2, 100, 10);
	is(sampled_total(s, SAMPLED_TAKEN, &error), 20);
	assert_true(error < 0);
	batch(s, 2, 200, 10);
	batch(s, 5, 0, 0); /* nothing ran */
	batch(s, 4, 100, 20);
	batch(s, 9, 70, 60)->dropped = true; /* incomplete */
	is(sampled_total(s, SAMPLED_TAKEN, &error), 120);
	is(error, 4.303 * sqrt(2736));
	is(sampled_total(s, SAMPLED_INSTRUCTIONS, &error), 1000);
	assert_true(error == 0); /* what instructions are is not estimated from their rate */
	assert_int_equal(sampled_observed(s), 400);
	profile_fini(&p);
}

/* 22 batches, 11 of which counted 10, and 11 counted 20: each is 5 off. 22 / 21 of the squares is 576.2, and t is 1.96 + 2.4 / 21.
 * Of 21 batches 11 counted 10: they are off by 4.76, the others by 5.24, which is 550; t is 2.086. */
static void many_batches_are_nearly_normal(void **state)
{
	static const double total[] = { 310, 330 }, square[] = { 550, 22. / 21 * 22 * 25 },
			    t[] = { 2.086, 1.96 + 2.4 / 21 };

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct profile p;
		struct sampled *s = begin(&p);
		double error;

		for (int i = 0; i < 21 + more; i++)
			batch(s, 1, 100, i % 2 ? 20 : 10);
		is(sampled_total(s, SAMPLED_TAKEN, &error), total[more]);
		is(error, t[more] * sqrt(square[more]));
		profile_fini(&p);
	}
}

/*
 * A tenth of 1000 instructions was observed, in 8 samples and 4 batches. 500 executions are 50 observations, but what 3 batches
 * saw, 6 samples saw at most; 30 executions are 3.
 */
static void observations_of_a_sample_depend_on_each_other(void **state)
{
	struct profile p;
	struct sampled *s = begin(&p);

	(void)state;
	for (int i = 0; i < 4; i++) {
		batch(s, 10, 25, 0);
		assert_int_equal(sampled_add(s, &(struct sample){ .batch = (uint32_t)i }), 0);
	}
	s->instructions = 1000;
	assert_true(sampled_independent(&p, 500, 3) == 0); /* not scaled: it was all observed */
	s->scaled = true;
	is(sampled_independent(&p, 500, 3), 6);
	is(sampled_independent(&p, 30, 3), 3);
	is(sampled_independent(&p, 1, 3), 1);
	s->instructions = 100;
	assert_true(sampled_independent(&p, 500, 3) == 0);
	profile_fini(&p);
}

static void runs_that_differ_are_found(void **state)
{
	struct profile p, q;
	struct sampled *a = begin(&p), *b = begin(&q);
	struct sampled_difference d;

	(void)state;
	for (int i = 0; i < 3; i++) {
		batch(a, 2, 100, 10);
		batch(b, 2, 100, 10);
	}
	a->instructions = b->instructions = 600;
	assert_false(sampled_differ(a, b, &d));
	b->batch[1].n[SAMPLED_TAKEN] = 13;
	assert_true(sampled_differ(a, b, &d));
	assert_string_equal(d.counter, "taken");
	is(d.total[0], 60);
	is(d.total[1], 66);
	assert_true(d.located);
	assert_int_equal(d.number, 12);
	assert_int_equal(d.begin, 2000);
	/* where totals agree, nothing differs, whatever single batches had */
	b->batch[2].n[SAMPLED_TAKEN] = 7;
	assert_false(sampled_differ(a, b, &d));
	b->instructions = 601;
	assert_true(sampled_differ(a, b, &d));
	assert_null(d.counter);
	assert_int_equal(d.instructions[1], 601);
	b->instructions = 600;
	assert_int_equal(sampled_add(b, &(struct sample){ 0 }), 0);
	assert_true(sampled_differ(a, b, &d));
	assert_int_equal(d.samples[1], 4);
	profile_fini(&p);
	profile_fini(&q);
}

static void add_site(struct profile *p, uint64_t addr, uint8_t cls, uint64_t observed,
		     uint64_t taken)
{
	struct site *s = profile_site(p, (struct site_id){ .addr = addr });

	assert_non_null(s);
	s->cls = cls;
	s->observed = observed;
	s->taken = taken;
	assert_int_equal(sites_note(&p->sites, s), 0);
}

static void sites_are_counted_by_their_kind(void **state)
{
	uint64_t n[SAMPLED_N];
	struct profile p;

	(void)state;
	begin(&p);
	add_site(&p, 1, INSN_BRANCH, 100, 30);
	add_site(&p, 2, INSN_CALL, 20, 20);
	add_site(&p, 3, INSN_ICALL, 3, 3);
	add_site(&p, 4, INSN_JUMP, 7, 7);
	add_site(&p, 5, INSN_RET, 23, 23);
	sampled_count(&p, n);
	assert_int_equal(n[SAMPLED_INSTRUCTIONS], 153);
	assert_int_equal(n[SAMPLED_CONDITIONAL], 100);
	assert_int_equal(n[SAMPLED_TAKEN], 30);
	assert_int_equal(n[SAMPLED_CALLS], 23);
	profile_fini(&p);
}

/* Rows stay where they are while others are made; one of zeroes is none. */
static void rows_do_not_move(void **state)
{
	struct site_rows r = { 0 };
	uint64_t *first, *far;

	(void)state;
	assert_null(rows_find(&r, 0, 3));
	first = rows_get(&r, SITES_CHUNK - 1, 3);
	assert_non_null(first);
	assert_null(rows_find(&r, SITES_CHUNK - 1, 3));
	first[2] = 7;
	far = rows_get(&r, 9 * SITES_CHUNK, 3);
	assert_non_null(far);
	far[0] = 8;
	assert_ptr_equal(rows_find(&r, SITES_CHUNK - 1, 3), first);
	assert_ptr_equal(rows_get(&r, SITES_CHUNK - 1, 3), first);
	assert_ptr_equal(rows_find(&r, 9 * SITES_CHUNK, 3), far);
	assert_int_equal(first[2], 7);
	assert_null(rows_find(&r, SITES_CHUNK - 2, 3));
	assert_null(rows_find(&r, 9 * SITES_CHUNK + 1, 3));
	assert_null(rows_find(&r, 5 * SITES_CHUNK, 3));	  /* never made, between others */
	assert_null(rows_find(&r, 100 * SITES_CHUNK, 3)); /* nor behind them */
	rows_free(&r);
	assert_null(rows_find(&r, SITES_CHUNK - 1, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_tell_how_far_a_total_is_off),
		cmocka_unit_test(many_batches_are_nearly_normal),
		cmocka_unit_test(observations_of_a_sample_depend_on_each_other),
		cmocka_unit_test(runs_that_differ_are_found),
		cmocka_unit_test(sites_are_counted_by_their_kind),
		cmocka_unit_test(rows_do_not_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
