/* SPDX-License-Identifier: MIT */
/*
 * Sampled profiles against exact ones, both made up so that every figure is known by hand. With an
 * argument it writes recordings for tests/cli/verify.t:
 *   verify DIR
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "x86/insn.h"
#include "verify/accuracy.h"
#include "store/recording.h"
#include "support/recordings.h"

#define CLOSE 1e-9
#define POINTER 0x7ffff7a01000

/* [0] and [1] are sampled, [2] is exact. */
static struct reading reading[3];
static uint32_t program[3];
static struct accuracy a[2];
static struct accuracy_options o;
static struct err err;

static int setup(void **state)
{
	static const char *const path[] = { "a.db", "b.db", "exact.db" };

	(void)state;
	memset(reading, 0, sizeof(reading));
	memset(a, 0, sizeof(a));
	o = (struct accuracy_options){ .min = 400, .min_hot = 50 };
	for (int i = 0; i < 3; i++) {
		reading[i].path = path[i];
		if (profile_init(&reading[i].profile, &err))
			return -1;
		if (i == 2)
			reading[i].profile.capacity = 64;
		recordings_run(&reading[i].profile, i == 2 ? "exact" : "sampler", "prog");
		program[i] = profile_image(&reading[i].profile, IMAGE_FILE, "/bin/prog", "aa")->id;
	}
	return 0;
}

static void close_views(void)
{
	for (int i = 0; i < 3; i++) {
		view_fini(&reading[i].view);
		binaries_fini(&reading[i].binaries);
	}
	accuracy_fini(&a[0]);
	accuracy_fini(&a[1]);
}

static int teardown(void **state)
{
	(void)state;
	close_views();
	for (int i = 0; i < 3; i++)
		profile_fini(&reading[i].profile);
	return 0;
}

/* The recording `i`'s site, with one operand: values and how often they occurred, until a count of 0. */
static struct site *values(int i, uint64_t addr, int operand, ...)
{
	struct profile *p = &reading[i].profile;
	struct site *s = recordings_site(p, program[i], addr, INSN_LOAD, 0, 0);
	uint64_t value, count;
	va_list ap;

	va_start(ap, operand);
	for (;;) {
		value = va_arg(ap, uint64_t);
		count = va_arg(ap, uint64_t);
		if (!count)
			break;
		recordings_value(p, s, operand, value, count);
		s->observed += count;
	}
	va_end(ap);
	return s;
}

#define V(value, count) (uint64_t)(value), (uint64_t)(count)
#define END V(0, 0)

static struct site *branch(int i, uint64_t addr, uint64_t observed, uint64_t taken)
{
	return recordings_site(&reading[i].profile, program[i], addr, INSN_BRANCH, observed, taken);
}

static int measure_with(size_t n, const struct reading *again)
{
	close_views();
	for (int i = 0; i < 3; i++) {
		struct reading *r = &reading[i];

		assert_int_equal(binaries_init(&r->binaries, &r->profile, NULL, &err), 0);
		assert_int_equal(view_open(&r->view, &r->profile, &r->binaries, &err), 0);
	}
	return accuracy_measure(a, reading, n, &reading[2], again, &o, &err);
}

static int measure_n(size_t n)
{
	return measure_with(n, NULL);
}

static void measure(void)
{
	assert_int_equal(measure_n(1), 0);
}

static const struct accuracy_values *of(enum accuracy_kind kind)
{
	return &a[0].values[kind];
}

static void near(double got, double wanted)
{
	if (!(fabs(got - wanted) < CLOSE))
		fail_msg("%.12g, not %.12g", got, wanted);
}

/* Values. */

static void test_an_error_of_ten_points(void **state)
{
	const struct accuracy_error *e = &of(ACCURACY_LOAD)->error;

	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 8000), V(2, 2000), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 900), V(2, 100), END);
	measure();
	near(e->rms, 0.1);
	near(e->chance, sqrt(0.8 * 0.2 / 1000));
	near(e->rms * e->rms, e->chance * e->chance + e->beyond * e->beyond);
	near(e->weight, 10000);
	assert_int_equal(of(ACCURACY_LOAD)->pairs, 2);
	assert_int_equal(of(ACCURACY_LOAD)->operands, 1);
	near(of(ACCURACY_ALL)->error.rms, 0.1);
	assert_true(isnan(of(ACCURACY_STORE)->error.rms));
}

static void test_no_error(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 8000), V(2, 2000), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 800), V(2, 200), END);
	measure();
	near(of(ACCURACY_ALL)->error.rms, 0);
	near(of(ACCURACY_ALL)->error.beyond, 0);
	assert_int_equal(of(ACCURACY_ALL)->bounds, 2);
	assert_int_equal(of(ACCURACY_ALL)->held, 2);
}

/* A pair weighs as much as it occurred: 0.1 at 1000 of 4000, once of two values alike, and 0 else. */
static void test_weights_are_executions(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 500), V(2, 500), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 600), V(2, 400), END);
	values(2, 0x2000, OPERAND_RESULT, V(7, 3000), END);
	values(0, 0x2000, OPERAND_RESULT, V(7, 5000), END);
	measure();
	near(of(ACCURACY_LOAD)->error.rms, 0.1);
	near(of(ACCURACY_RESULT)->error.rms, 0);
	near(of(ACCURACY_ALL)->error.rms, sqrt(0.25 * 0.01));
}

/* 0.6 in 6000 of 10000 is 20 points too low, 0.1 in 1000 ten too low, 0.3 in 3000 thirty too high. */
static void test_weights_are_occurrences(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 6000), V(2, 1000), V(3, 3000), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 400), V(3, 600), END);
	measure();
	near(of(ACCURACY_ALL)->error.rms, sqrt(0.6 * 0.04 + 0.1 * 0.01 + 0.3 * 0.09));
}

static void test_a_hot_value_missed(void **state)
{
	const struct accuracy_values *v = of(ACCURACY_LOAD);

	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 500), V(2, 300), V(3, 151), V(4, 49), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 30), V(2, 20), END);
	measure();
	assert_int_equal(v->hot, 3);
	assert_int_equal(v->found, 2);
	near(v->hot_ran, 951);
	near(v->found_ran, 800);
	assert_true(isnan(v->error.rms)); /* of 50 observations no error is taken */
}

static void test_least_observations(void **state)
{
	const struct accuracy_values *v = of(ACCURACY_LOAD);

	(void)state;
	for (uint64_t k = 0; k < 4; k++)
		values(2, 0x1000 + k, OPERAND_LOAD, V(1, 1000), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 400), END);
	values(0, 0x1001, OPERAND_LOAD, V(1, 399), END);
	values(0, 0x1002, OPERAND_LOAD, V(1, 50), END);
	values(0, 0x1003, OPERAND_LOAD, V(1, 49), END);
	measure();
	assert_int_equal(v->operands, 1);
	near(v->executions.compared, 1000);
	near(v->executions.ran, 4000);
	assert_int_equal(v->hot, 3);
	assert_int_equal(v->bounds, 3);
	o.min = 399;
	o.min_hot = 51;
	measure();
	assert_int_equal(v->operands, 2);
	assert_int_equal(v->hot, 2);
}

/* +- 1.9 points at 90 % of 1000. */
static void test_bounds(void **state)
{
	const struct accuracy_values *v = of(ACCURACY_LOAD);

	(void)state;
	values(0, 0x1000, OPERAND_LOAD, V(1, 900), V(2, 100), END);
	values(2, 0x1000, OPERAND_LOAD, V(1, 8700), V(2, 1300), END);
	values(0, 0x2000, OPERAND_LOAD, V(1, 900), V(2, 100), END);
	values(2, 0x2000, OPERAND_LOAD, V(1, 8900), V(2, 1100), END);
	measure();
	assert_int_equal(v->bounds, 4);
	assert_int_equal(v->held, 2);
	assert_int_equal(v->low_held, 3); /* 13 % is above what was reported as 10 */
}

static void test_a_value_that_never_was(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 10000), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 800), V(99, 200), END);
	measure();
	assert_int_equal(of(ACCURACY_ALL)->bounds, 2);
	assert_int_equal(of(ACCURACY_ALL)->held, 0);
	near(of(ACCURACY_ALL)->error.rms, 0.2);
}

/* An exact list that overflowed: 64 values of 1000, each once; and one that is certain. */
static void test_uncertain_truth(void **state)
{
	struct site *s;

	(void)state;
	s = values(2, 0x1000, OPERAND_LOAD, V(5, 600), END);
	for (uint64_t i = 0; i < 400; i++)
		recordings_value(&reading[2].profile, s, OPERAND_LOAD, 100 + i, 1);
	values(0, 0x1000, OPERAND_LOAD, V(5, 500), END);
	measure();
	assert_false(hot_exact(site_hot(s, OPERAND_LOAD)));
	assert_int_equal(of(ACCURACY_LOAD)->hot, 1);
	assert_int_equal(of(ACCURACY_LOAD)->found, 1);
	assert_true(a[0].left_out.uncertain_ran > 0);
	assert_true(a[0].left_out.uncertain_ran <= 400);
	assert_int_equal(of(ACCURACY_LOAD)->held, 0); /* 100 % of 500, and it is 60 */
}

static void test_kinds(void **state)
{
	static const struct {
		int operand;
		enum accuracy_kind kind;
	} pair[] = {
		{ OPERAND_RESULT2, ACCURACY_RESULT },  { OPERAND_STORE, ACCURACY_STORE },
		{ OPERAND_ADDRESS, ACCURACY_ADDRESS }, { OPERAND_TARGET, ACCURACY_TARGET },
		{ OPERAND_RETURN, ACCURACY_RETURN },   { OPERAND_ARG5, ACCURACY_ARGUMENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
		values(2, 0x1000 + i, pair[i].operand, V(1, 1000), END);
		values(0, 0x1000 + i, pair[i].operand, V(1, 500), END);
	}
	measure();
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++)
		assert_int_equal(of(pair[i].kind)->operands, 1);
	assert_int_equal(of(ACCURACY_ALL)->operands, 6);
}

/* Addresses. */

static void test_addresses_are_left_out(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(POINTER, 900), V(0, 100), END);
	values(0, 0x1000, OPERAND_LOAD, V(POINTER + 0x5000, 450), V(0, 50), END);
	values(2, 0x2000, OPERAND_LOAD, V(0x55d0c0ffe000, 1000), END);
	values(0, 0x2000, OPERAND_LOAD, V(0x55d0c0ffe000, 500), END);
	values(2, 0x3000, OPERAND_LOAD, V(0x404010, 1000), END);
	values(0, 0x3000, OPERAND_LOAD, V(0x404010, 500), END);
	measure();
	assert_int_equal(of(ACCURACY_LOAD)->operands, 1);
	near(of(ACCURACY_LOAD)->executions.ran, 1000);
	assert_int_equal(a[0].left_out.addresses, 2);
	near(a[0].left_out.addresses_ran, 2000);
	assert_int_equal(a[0].left_out.hot_addresses, 2);
	assert_int_equal(a[0].left_out.agree, 1);
	o.all = true;
	measure();
	assert_int_equal(of(ACCURACY_LOAD)->operands, 3);
	assert_int_equal(a[0].left_out.addresses, 0);
	assert_int_equal(a[0].left_out.hot_addresses, 2);
}

static void test_canaries_are_left_out(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(0xc404386f5b3c1d00, 1000), END);
	values(0, 0x1000, OPERAND_LOAD, V(0x1a2b3c4d5e6f7700, 500), END);
	values(2, 0x2000, OPERAND_LOAD, V(0x3ff0000000000000, 1000), END); /* 1.0 */
	values(0, 0x2000, OPERAND_LOAD, V(0x3ff0000000000000, 500), END);
	measure();
	assert_int_equal(of(ACCURACY_LOAD)->operands, 1);
	assert_int_equal(a[0].left_out.addresses, 1);
	near(a[0].left_out.addresses_ran, 1000);
}

/* A seldom pointer does not leave its operand out, but is not compared. */
static void test_cold_addresses(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(0, 970), V(POINTER, 30), END);
	values(0, 0x1000, OPERAND_LOAD, V(0, 970), V(POINTER + 0x1000, 30), END);
	measure();
	assert_int_equal(a[0].left_out.addresses, 0);
	assert_int_equal(of(ACCURACY_LOAD)->pairs, 1);
	assert_int_equal(of(ACCURACY_LOAD)->bounds, 1);
	near(of(ACCURACY_LOAD)->error.rms, 0);
}

/* Directions and targets. */

static void test_directions(void **state)
{
	const struct accuracy_directions *d = &a[0].directions;

	(void)state;
	branch(2, 0x1000, 1000, 600);
	branch(0, 0x1000, 1000, 360);
	branch(2, 0x2000, 1000, 500);
	branch(0, 0x2000, 1000, 540);
	branch(2, 0x3000, 1000, 500);
	branch(0, 0x3000, 1000, 420);
	branch(2, 0x4000, 1000, 500);
	branch(0, 0x4000, 1000, 620);
	branch(2, 0x5000, 4000, 4000); /* seldom seen */
	branch(0, 0x5000, 399, 0);
	measure();
	assert_int_equal(d->sites, 4);
	near(d->executions.compared, 4000);
	near(d->executions.ran, 8000);
	near(d->error.rms, sqrt((0.0576 + 0.0016 + 0.0064 + 0.0144) / 4));
	near(d->error.chance, sqrt((0.24 + 3 * 0.25) / 4 / 1000));
	near(d->within[0], 1000);
	near(d->within[1], 2000);
	near(d->within[2], 3000);
	near(d->common, 4000 - 1000 * (0.24 + 0.04 + 0.08 + 0.12));
	assert_int_equal(d->bounds, 5);
	assert_int_equal(d->held, 1); /* 54 % for 50 % */
}

static void test_a_direction_within_its_bound(void **state)
{
	(void)state;
	branch(2, 0x1000, 1000, 600);
	branch(0, 0x1000, 1000, 620);
	measure();
	assert_int_equal(a[0].directions.held, 1);
}

/* 90 % estimated at 88 is within a tenth of it; 10 % at 12 is not. */
static void test_edges(void **state)
{
	(void)state;
	branch(2, 0x1000, 1000, 900);
	branch(0, 0x1000, 500, 440);
	measure();
	near(a[0].directions.close, 900);
}

static void test_targets(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_TARGET, V(0x401000, 500), V(0x402000, 300), V(0x403000, 200),
	       END);
	values(0, 0x1000, OPERAND_TARGET, V(0x401000, 700), V(0x402000, 100), V(0x404000, 200),
	       END);
	measure();
	assert_int_equal(a[0].targets.sites, 1);
	near(a[0].targets.common / a[0].targets.executions.compared, 0.6);
}

/* Coverage. */

static void test_coverage(void **state)
{
	const struct accuracy_coverage *c = &a[0].coverage;
	uint32_t anon = profile_image(&reading[2].profile, IMAGE_ANON, "[anon]", "")->id;

	(void)state;
	branch(2, 0x1000, 600, 0);
	branch(0, 0x1000, 900, 0);
	branch(2, 0x2000, 300, 0);
	branch(0, 0x2000, 50, 0);
	branch(2, 0x3000, 100, 0);
	branch(0, 0x4000, 50, 0);
	recordings_site(&reading[2].profile, anon, 0x7f0000000000, INSN_OTHER, 250, 0);
	measure();
	assert_int_equal(c->sites, 3);
	assert_int_equal(c->seen, 2);
	near(c->ran, 1000);
	near(c->seen_ran, 900);
	near(c->enough_ran, 600);
	near(c->common, 0.6 + 0.05);
	assert_int_equal(c->strays, 1);
	near(c->observed, 1000);
	near(c->strays_observed, 50);
	near(c->elsewhere, 250);
	/* 90 % of observations, 60 % of executions */
	assert_int_equal(a[0].worst_directions.n, 1);
	near(a[0].worst_directions.v[0].seen, 1.5);
}

static void test_worst_first(void **state)
{
	const struct accuracy_sites *w = &a[0].worst_values;

	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 100), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 600), V(2, 400), END); /* far off, seldom run */
	values(2, 0x2000, OPERAND_LOAD, V(1, 80000), V(2, 20000), END);
	values(0, 0x2000, OPERAND_LOAD, V(1, 900), V(2, 100), END);
	measure();
	assert_int_equal(w->n, 2);
	assert_int_equal(reading[2].view.site[w->v[0].at]->id.addr, 0x2000);
	assert_int_equal(w->v[0].operand, OPERAND_LOAD);
	assert_int_equal(w->v[0].value, 1);
	near(w->v[0].sampled.value, 0.9);
	near(w->v[0].exact, 0.8);
	near(w->v[0].square, 1000);
	near(w->v[1].square, 16);
}

/* Images. */

static void test_other_build(void **state)
{
	(void)state;
	branch(2, 0x1000, 600, 0);
	program[0] = profile_image(&reading[0].profile, IMAGE_FILE, "/bin/prog", "bb")->id;
	branch(0, 0x1000, 900, 0);
	assert_int_equal(measure_n(1), -1);
	assert_int_equal(err.code, ERR_FAILED);
	assert_string_equal(err.msg, "a.db and exact.db ran different files: /bin/prog (build-id "
				     "bb, aa)");
}

/* A compiler's output: one path, a file of which is in both. */
static void test_several_builds_of_a_path(void **state)
{
	uint32_t other;

	(void)state;
	branch(2, 0x1000, 600, 0);
	branch(0, 0x1000, 900, 0);
	other = profile_image(&reading[2].profile, IMAGE_FILE, "/bin/prog", "cc")->id;
	recordings_site(&reading[2].profile, other, 0x1000, INSN_OTHER, 5, 0);
	other = profile_image(&reading[0].profile, IMAGE_FILE, "/bin/prog", "dd")->id;
	recordings_site(&reading[0].profile, other, 0x1000, INSN_OTHER, 5, 0);
	measure();
	assert_int_equal(a[0].coverage.seen, 1);
	assert_int_equal(a[0].coverage.strays, 1);
}

static void test_a_file_that_moved(void **state)
{
	(void)state;
	branch(2, 0x1000, 600, 300);
	program[0] = profile_image(&reading[0].profile, IMAGE_FILE, "/opt/prog", "aa")->id;
	branch(0, 0x1000, 900, 450);
	measure();
	assert_int_equal(a[0].directions.sites, 1);
}

static void test_nothing_in_common(void **state)
{
	(void)state;
	branch(2, 0x1000, 600, 0);
	program[0] = profile_image(&reading[0].profile, IMAGE_FILE, "/bin/other", "bb")->id;
	branch(0, 0x1000, 900, 0);
	assert_int_equal(measure_n(1), -1);
	assert_int_equal(err.code, ERR_EMPTY);
	assert_non_null(strstr(err.hint, "/bin/other"));
	assert_non_null(strstr(err.hint, "/bin/prog"));
}

/* Several recordings. */

static void test_common_sites(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 1000), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 500), END);
	values(1, 0x1000, OPERAND_LOAD, V(1, 450), V(2, 50), END);
	values(2, 0x2000, OPERAND_LOAD, V(1, 1000), END);
	values(0, 0x2000, OPERAND_LOAD, V(1, 300), V(2, 300), END);
	assert_int_equal(measure_n(2), 0);
	assert_int_equal(a[0].values[ACCURACY_ALL].operands, 2);
	assert_int_equal(a[1].values[ACCURACY_ALL].operands, 1);
	near(a[1].values[ACCURACY_ALL].error.rms, 0.1);
	o.common = true;
	assert_int_equal(measure_n(2), 0);
	assert_int_equal(a[0].values[ACCURACY_ALL].operands, 1);
	near(a[0].values[ACCURACY_ALL].error.rms, 0);
	near(a[1].values[ACCURACY_ALL].error.rms, 0.1);
}

/* Two exact runs. */

/* Values 7, 8 and 9 are what each of three runs made up. */
static void test_values_of_the_run(void **state)
{
	const struct accuracy_differ *d = &a[0].differ_values;

	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 6000), V(7, 4000), END);
	values(1, 0x1000, OPERAND_LOAD, V(1, 6050), V(8, 3950), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 600), V(9, 400), END);
	assert_int_equal(measure_with(1, &reading[1]), 0);
	near(of(ACCURACY_LOAD)->error.rms, 0);
	near(of(ACCURACY_LOAD)->error.weight, 6000);
	assert_int_equal(of(ACCURACY_ALL)->pairs, 1);
	assert_int_equal(of(ACCURACY_ALL)->hot, 1);
	assert_int_equal(of(ACCURACY_ALL)->found, 1);
	assert_int_equal(of(ACCURACY_ALL)->bounds, 1);
	assert_int_equal(of(ACCURACY_ALL)->held, 1);
	assert_int_equal(d->pairs, 1);
	near(d->error.weight, 4000);
	near(d->error.rms, 0.4);
	near(d->between.rms, 0.4);
	measure();
	near(of(ACCURACY_LOAD)->error.rms, sqrt(0.4 * 0.16));
	assert_int_equal(of(ACCURACY_ALL)->bounds, 2);
	assert_int_equal(of(ACCURACY_ALL)->held, 1);
	assert_int_equal(d->pairs, 0);
}

/* What the sampled one alone is wrong about stays an error. */
static void test_an_error_of_sampling_stays(void **state)
{
	(void)state;
	values(2, 0x1000, OPERAND_LOAD, V(1, 8000), V(2, 2000), END);
	values(1, 0x1000, OPERAND_LOAD, V(1, 7950), V(2, 2050), END);
	values(0, 0x1000, OPERAND_LOAD, V(1, 850), V(9, 150), END);
	assert_int_equal(measure_with(1, &reading[1]), 0);
	near(of(ACCURACY_LOAD)->error.rms, sqrt(0.8 * 0.0025 + 0.2 * 0.04));
	assert_int_equal(a[0].differ_values.pairs, 0);
	assert_int_equal(of(ACCURACY_LOAD)->hot, 2);
	assert_int_equal(of(ACCURACY_LOAD)->found, 1);
	assert_int_equal(of(ACCURACY_LOAD)->bounds, 2);
	assert_int_equal(of(ACCURACY_LOAD)->held, 0);
}

/* The other run may not have come there at all. */
static void test_directions_of_the_run(void **state)
{
	const struct accuracy_differ *d = &a[0].differ_directions;

	(void)state;
	branch(2, 0x1000, 6000, 3000);
	branch(1, 0x1000, 6000, 3600);
	branch(0, 0x1000, 1000, 600);
	branch(2, 0x2000, 1000, 500);
	branch(1, 0x2000, 1000, 505);
	branch(0, 0x2000, 1000, 600);
	branch(2, 0x3000, 1000, 500);
	branch(0, 0x3000, 1000, 500);
	assert_int_equal(measure_with(1, &reading[1]), 0);
	assert_int_equal(a[0].directions.sites, 1);
	near(a[0].directions.error.rms, 0.1);
	assert_int_equal(a[0].directions.bounds, 1);
	assert_int_equal(d->pairs, 2);
	near(d->error.weight, 7000);
	near(d->error.rms, sqrt(6000 * 0.01 / 7000));
	near(d->between.rms, 0.1);
	measure();
	assert_int_equal(a[0].directions.sites, 3);
}

static void test_another_run_of_another_program(void **state)
{
	(void)state;
	branch(2, 0x1000, 600, 300);
	branch(0, 0x1000, 900, 450);
	program[1] = profile_image(&reading[1].profile, IMAGE_FILE, "/bin/other", "cc")->id;
	branch(1, 0x1000, 900, 450);
	assert_int_equal(measure_with(1, &reading[1]), -1);
	assert_int_equal(err.code, ERR_EMPTY);
	assert_non_null(strstr(err.hint, "/bin/other"));
}

static void test_exact_against_itself(void **state)
{
	struct profile *p = &reading[2].profile;

	(void)state;
	recordings_exact(p);
	profile_fini(&reading[0].profile);
	assert_int_equal(profile_init(&reading[0].profile, &err), 0);
	assert_int_equal(profile_merge(&reading[0].profile, p, &err), 0);
	reading[0].profile.capacity = p->capacity;
	o.all = true;
	measure();
	assert_int_equal(a[0].coverage.seen, a[0].coverage.sites);
	near(a[0].coverage.common, 1);
	near(a[0].directions.error.rms, 0);
	assert_int_equal(a[0].directions.held, a[0].directions.bounds);
	assert_int_equal(of(ACCURACY_ALL)->found, of(ACCURACY_ALL)->hot);
	assert_true(of(ACCURACY_ALL)->hot > 0);
}

/* Recordings to read. */

static void write_profile(const char *dir, const char *name, struct profile *p)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (recording_write(path, p, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	profile_fini(p);
}

static void write_filled(const char *dir, const char *name, void (*fill)(struct profile *))
{
	struct profile p;

	if (profile_init(&p, &err))
		exit(1);
	fill(&p);
	write_profile(dir, name, &p);
}

static void fill_counting(struct profile *p)
{
	p->method = HOT_COUNTING;
	p->capacity = 4;
	recordings_squeeze(p);
}

/* squeeze, rebuilt. */
static void fill_rebuilt(struct profile *p)
{
	uint32_t image;

	recordings_run(p, "exact", "squeeze -9 -k 'big file.txt'");
	image = profile_image(p, IMAGE_FILE, "/nowhere/bin/squeeze", "00000000deadbeef")->id;
	recordings_site(p, image, 0x3a10, INSN_LOAD, 1000, 0);
}

static void fill_stranger(struct profile *p)
{
	uint32_t image;

	recordings_run(p, "exact", "other");
	image = profile_image(p, IMAGE_FILE, "/nowhere/bin/other", "11111111")->id;
	recordings_site(p, image, 0x3a10, INSN_LOAD, 1000, 0);
}

/* Another run of squeeze: one load has other values, one branch another direction. */
static void fill_again(struct profile *p)
{
	uint32_t image;
	struct site *s;

	recordings_exact(p);
	image = profile_image(p, IMAGE_FILE, "/nowhere/bin/squeeze", "0123456789abcdef")->id;
	s = profile_site(p, (struct site_id){ .image = image, .addr = 0x3a14 });
	recordings_value(p, s, OPERAND_LOAD, 0x1234, hot_total(site_hot(s, OPERAND_LOAD)));
	s = profile_site(p, (struct site_id){ .image = image, .addr = 0x3a20 });
	s->taken /= 2;
}

static void fill_big_exact(struct profile *p)
{
	recordings_big(p, 200000);
	free(p->run[0].source);
	p->run[0].source = strdup("exact");
}

static void fill_big(struct profile *p)
{
	recordings_big(p, 200000);
}

static int write_all(const char *dir)
{
	write_filled(dir, "sampled.db", recordings_squeeze);
	write_filled(dir, "counting.db", fill_counting);
	write_filled(dir, "exact.db", recordings_exact);
	write_filled(dir, "again.db", fill_again);
	write_filled(dir, "rebuilt.db", fill_rebuilt);
	write_filled(dir, "stranger.db", fill_stranger);
	write_filled(dir, "empty.db", recordings_empty);
	write_filled(dir, "big.db", fill_big);
	write_filled(dir, "big-exact.db", fill_big_exact);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_error_of_ten_points),
		TEST(test_no_error),
		TEST(test_weights_are_executions),
		TEST(test_weights_are_occurrences),
		TEST(test_a_hot_value_missed),
		TEST(test_least_observations),
		TEST(test_bounds),
		TEST(test_a_value_that_never_was),
		TEST(test_uncertain_truth),
		TEST(test_kinds),
		TEST(test_addresses_are_left_out),
		TEST(test_canaries_are_left_out),
		TEST(test_cold_addresses),
		TEST(test_directions),
		TEST(test_a_direction_within_its_bound),
		TEST(test_edges),
		TEST(test_targets),
		TEST(test_coverage),
		TEST(test_worst_first),
		TEST(test_other_build),
		TEST(test_several_builds_of_a_path),
		TEST(test_a_file_that_moved),
		TEST(test_nothing_in_common),
		TEST(test_common_sites),
		TEST(test_values_of_the_run),
		TEST(test_an_error_of_sampling_stays),
		TEST(test_directions_of_the_run),
		TEST(test_another_run_of_another_program),
		TEST(test_exact_against_itself),
	};

	if (argc > 1)
		return write_all(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
