/* SPDX-License-Identifier: MIT */
/* Differences of recordings: the tests of significance, and rows of counts made up with known rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "x86/insn.h"
#include "report/diff_rows.h"
#include "support/recordings.h"

#define PROCS 1000
#define PERIOD 1e6 /* ns */
#define RUNS 4

static void assert_near(double got, double wanted, double within)
{
	if (!(fabs(got - wanted) <= within))
		fail_msg("%.9g, not %.9g", got, wanted);
}

/* P(X <= k) term by term. */
static double binomial_sum(int k, int n, double p)
{
	double term = pow(1 - p, n), sum = 0;

	for (int i = 0; i <= k; i++) {
		sum += term;
		term *= (double)(n - i) / (i + 1) * p / (1 - p);
	}
	return sum;
}

static void test_binomial(void **state)
{
	(void)state;
	for (int n = 1; n < 60; n += 7)
		for (int k = 0; k <= n; k++)
			for (double p = 0.1; p < 1; p += 0.2)
				assert_near(significance_binomial(k, n, p),
					    fmin(1, binomial_sum(k, n, p)), 1e-9);
	assert_near(significance_binomial(500000, 1e6, 0.5), 0.5, 1e-3);
}

/* From printed tables of Student's t. */
static void test_student(void **state)
{
	(void)state;
	assert_near(significance_student(12.706, 1), 0.975, 1e-5);
	assert_near(significance_student(2.776, 4), 0.975, 1e-4);
	assert_near(significance_student(-2.228, 10), 0.025, 1e-4);
	assert_near(significance_student(1.959964, INFINITY), 0.975, 1e-6);
}

static void test_counts(void **state)
{
	struct limits l = significance_ratio(0, 10);

	(void)state;
	assert_near(significance_counts(10, 10, 0.5), 1, 1e-9);
	assert_near(significance_counts(0, 0, 0.5), 1, 0);
	/* twice the probability of what is more extreme, and of half of what happened */
	assert_near(significance_counts(0, 1, 0.5), 1. / 2, 1e-9);
	assert_near(significance_counts(0, 2, 0.5), 1. / 4, 1e-9);
	assert_near(significance_counts(1, 3, 0.5), 2 * (1 / 16. + 4 / 16. / 2), 1e-9);
	assert_near(significance_counts(3, 1, 0.5), 2 * (1 / 16. + 4 / 16. / 2), 1e-9);
	assert_near(significance_counts(0, 3, 0.75), 27 / 64., 1e-9);
	assert_true(significance_counts(100, 200, 0.5) < 1e-6);
	/* twice the rate of sampling is no difference */
	assert_true(significance_counts(100, 200, 2. / 3) > 0.9);
	assert_true(isinf(l.high));
	assert_near(l.low, 10 / (1.959964 * 1.959964),
		    1e-6); /* n over the square of the quantile */
	/* a quarter of 40: by Wilson's formula the share is between 0.14187 and 0.40194 */
	l = significance_ratio(30, 10);
	assert_near(l.low, 0.14187 / (1 - 0.14187), 1e-4);
	assert_near(l.high, 0.40194 / (1 - 0.40194), 1e-4);
	l = significance_ratio(1000, 1000);
	assert_near(l.low, 1 / l.high, 1e-9);
	assert_near(l.high, exp(1.96 * sqrt(2. / 1000)), 2e-3);
}

/* The fifteen p-values of the example in Benjamini and Hochberg's paper: four are rejected. */
/* The smallest change that is listed: what is just below it is not. */
static void test_smallest(void **state)
{
	struct diff_scale s = { .event = { 2, 2 }, .n = { 1, 1 } };
	double ratio = diff_smallest_ratio(&s, 500, 0.05);

	(void)state;
	/* the standard error of the logarithm of the ratio of two counts of 500 is the root of 2 / 500 */
	assert_true(fabs(log(ratio) - 1.96 * sqrt(2 / 500.0)) < 0.01);
	assert_true(significance_counts(500, 500 * ratio, 0.5) <= 0.05);
	assert_true(significance_counts(500, 500 * ratio / 1.001, 0.5) > 0.05);
	assert_true(fabs(log(diff_smallest_ratio(&s, 2000, 0.05)) - 1.96 * sqrt(2 / 2000.0)) <
		    0.003);
	assert_true(fabs(log(diff_smallest_ratio(&s, 500, 0.001)) - 3.29 * sqrt(2 / 500.0)) < 0.01);
	s.event[1] = 1; /* twice the samples on the new side: 1000 */
	assert_true(fabs(log(diff_smallest_ratio(&s, 500, 0.05)) -
			 1.96 * sqrt(1 / 500. + 1 / 1000.)) < 0.005);
	assert_true(isinf(diff_smallest_ratio(&s, 0, 0.05)));
	assert_true(isinf(diff_smallest_ratio(&s, 0.001, 0.05)));
	s.event[1] = 0;
	assert_true(isinf(diff_smallest_ratio(&s, 500, 0.05)));
}

static void test_discoveries(void **state)
{
	double p[] = { 0.0298, 0.0001, 0.0278, 0.0004, 0.0344, 0.0019, 0.0459, 0.0095,
		       0.3240, 0.0201, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };

	(void)state;
	assert_near(significance_threshold(p, 15, 0.05), 0.0095, 0);
	assert_near(significance_threshold(p + 10, 5, 0.05), -1, 0);
}

static void test_means(void **state)
{
	static const double a[] = { 10, 11, 9, 10 }, b[] = { 20, 22, 18, 20 };
	struct sample_mean x = significance_mean(a, 4, 0), y = significance_mean(b, 4, 0);
	struct limits l = significance_means_ratio(&x, &y);

	(void)state;
	assert_near(x.variance, 2. / 3 / 4, 1e-9);
	/* relative variances of 1 / 600 each; log 2 is 12.006 of their sum's roots, and t has 6 degrees of freedom, of which
	 * 2.4469 is the limit */
	assert_near(significance_means(&x, &y), 2.0252e-5, 1e-9);
	assert_near(significance_means(&x, &x), 1, 1e-9);
	assert_near(l.low, 2 * exp(-2.4469 * sqrt(2 / 600.)), 1e-4);
	assert_near(l.high, 2 * exp(2.4469 * sqrt(2 / 600.)), 1e-4);
	assert_true(isinf(significance_mean(a, 4, 1).freedom));
}

/* Knuth's method; for large means in parts. */
static unsigned poisson(uint64_t *random, double mean)
{
	unsigned n = 0;

	while (mean > 20) {
		n += poisson(random, 20);
		mean -= 20;
	}
	for (double product = random_part(random), least = exp(-mean); product > least; n++)
		product *= random_part(random);
	return n;
}

/* A recording of procedures whose rates fall as those of real programs do; change: of each procedure's rate. */
static void make(struct reading *r, uint64_t *random, const double *change, double rate)
{
	struct err err;
	struct profile_image *pi;
	struct run *run;

	memset(r, 0, sizeof(*r));
	assert_int_equal(profile_init(&r->profile, &err), 0);
	run = recordings_run(&r->profile, "sampler", "work");
	pi = profile_image(&r->profile, IMAGE_FILE, "/bin/work", "00");
	pi->proc = calloc(PROCS, sizeof(*pi->proc));
	pi->nproc = PROCS;
	for (unsigned i = 0; i < PROCS; i++) {
		struct site *s =
			recordings_site(&r->profile, pi->id, 0x1000 + i * 16, INSN_OTHER, 0, 0);

		assert_true(asprintf(&pi->proc[i].name, "proc%u", i) > 0);
		pi->proc[i].start = 0x1000 + i * 16;
		pi->proc[i].end = pi->proc[i].start + 16;
		s->samples = poisson(random, rate * 3000 / (1 + i) * (change ? change[i] : 1));
		s->time = (double)s->samples * PERIOD / rate;
		run->n.samples += s->samples;
	}
	run->n.program_ns = (uint64_t)((double)run->n.samples * PERIOD / rate);
	assert_int_equal(binaries_init(&r->binaries, &r->profile, NULL, &err), 0);
	assert_int_equal(view_open(&r->view, &r->profile, &r->binaries, &err), 0);
}

static void unmake(struct reading *r)
{
	view_fini(&r->view);
	binaries_fini(&r->binaries);
	profile_fini(&r->profile);
}

static void judge(struct diff_rows *rows, struct reading *base, size_t nbase, struct reading *new,
		  size_t nnew)
{
	struct diff_side side[2] = { { base, nbase }, { new, nnew } };

	*rows = (struct diff_rows){ .by = DIFF_PROCEDURE, .measure = DIFF_TIME };
	assert_int_equal(diff_rows_collect(rows, side, NULL), 0);
	assert_int_equal(diff_rows_judge(rows, side), 0);
}

static size_t flagged(const struct diff_rows *rows)
{
	return rows->n - rows->of[DIFF_SAME];
}

/* Two recordings of the same work, at rates of sampling that differ too: hardly a row is told apart. */
static void test_nothing_changed(void **state)
{
	uint64_t random = 23;
	size_t rows_all = 0, flagged_all = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct reading base, new;
		struct diff_rows rows;

		make(&base, &random, NULL, 1);
		make(&new, &random, NULL, round & 1 ? 1 : 3);
		judge(&rows, &base, 1, &new, 1);
		rows_all += rows.n;
		flagged_all += flagged(&rows);
		assert_true(flagged(&rows) <= rows.n / 20);
		diff_rows_fini(&rows);
		unmake(&base);
		unmake(&new);
	}
	assert_true(rows_all > 10000);
	assert_true(flagged_all <= rows_all / 1000);
}

/* Changes that are there are found, named right, and come first; the rest stays grey. */
static void test_changes(void **state)
{
	uint64_t random = 42;
	double change[PROCS];
	struct reading base, new;
	struct diff_rows rows;

	(void)state;
	for (int i = 0; i < PROCS; i++)
		change[i] = 1;
	change[1] = 2;
	change[4] = 0.4;
	change[7] = 0;
	make(&base, &random, NULL, 1);
	make(&new, &random, change, 2);
	judge(&rows, &base, 1, &new, 1);
	assert_string_equal(rows.row[0]->procedure, "proc1");
	assert_int_equal(rows.row[0]->a.verdict, DIFF_SLOWER);
	assert_true(rows.row[0]->a.ratio.low < 2 && rows.row[0]->a.ratio.high > 2);
	assert_true(rows.row[0]->a.ratio.low > 1.8);
	for (size_t i = 0; i < rows.n; i++) {
		if (!strcmp(rows.row[i]->procedure, "proc4"))
			assert_int_equal(rows.row[i]->a.verdict, DIFF_FASTER);
		if (!strcmp(rows.row[i]->procedure, "proc7"))
			assert_int_equal(rows.row[i]->a.verdict, DIFF_GONE);
		assert_true(!i || rows.row[i - 1]->a.verdict <= rows.row[i]->a.verdict);
	}
	assert_int_equal(flagged(&rows), 3);
	diff_rows_fini(&rows);
	unmake(&base);
	unmake(&new);
}

/* Runs whose procedures vary by 10 % among themselves: two of them seem to differ, sets of them do not. */
static void test_runs(void **state)
{
	uint64_t random = 7;
	struct reading run[2 * RUNS];
	double change[PROCS];
	struct diff_rows rows;

	(void)state;
	for (int k = 0; k < 2 * RUNS; k++) {
		for (int i = 0; i < PROCS; i++)
			change[i] =
				(0.85 + 0.3 * random_part(&random)) * (i == 2 && k >= RUNS ? 3 : 1);
		make(&run[k], &random, change, 10);
	}
	judge(&rows, &run[0], 1, &run[RUNS], 1);
	assert_true(flagged(&rows) > 5);
	diff_rows_fini(&rows);
	judge(&rows, &run[0], RUNS, &run[RUNS], RUNS);
	assert_true(rows.between);
	assert_true(flagged(&rows) >= 1 && flagged(&rows) <= 3);
	assert_string_equal(rows.row[0]->procedure, "proc2");
	assert_false(isnan(rows.total_ratio.low));
	diff_rows_fini(&rows);
	for (int k = 0; k < 2 * RUNS; k++)
		unmake(&run[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binomial),
		cmocka_unit_test(test_student),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_discoveries),
		cmocka_unit_test(test_smallest),
		cmocka_unit_test(test_means),
		cmocka_unit_test(test_nothing_changed),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
