/* SPDX-License-Identifier: MIT */
/* DCPI's heuristic for one class: the seed's own example, and its rules one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "estimate/dcpi.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct dcpi_estimate estimate(const struct dcpi_insn *v, size_t n)
{
	struct dcpi_estimate e;

	assert_int_equal(dcpi_class(&e, v, n, &dcpi_default), 0);
	return e;
}

#define I(s, m) \
	{ \
		.samples = s, .least = m, .cause = -1 \
	}

/* Figure 7 of the seed: the copy loop. */
static const struct dcpi_insn figure7[] = {
	{ .samples = 3126, .least = 1, .cause = -1, .first = true },
	I(0, 0),
	I(1636, 1),
	I(390, 0),
	I(1482, 1),
	I(0, 0),
	I(27766, 1),
	I(0, 0),
	I(1493, 1),
	I(174727, 1),
	I(1548, 1),
	I(0, 0),
	I(1586, 1),
};

static void the_seeds_figure_7(void **state)
{
	struct dcpi_estimate e = estimate(figure7, COUNT(figure7));

	(void)state;
	assert_int_equal(e.used, 4);
	assert_int_equal((int)e.f, 1527);
	assert_true(fabs(e.f / 1575.1 - 1) < 0.05); /* the true frequency */
	assert_int_equal(e.confidence, CONFIDENCE_HIGH);
}

static void scaling_samples_scales_the_estimate(void **state)
{
	struct dcpi_insn v[COUNT(figure7)];

	(void)state;
	for (double scale = 0.5; scale < 100; scale *= 3) {
		for (size_t i = 0; i < COUNT(v); i++) {
			v[i] = figure7[i];
			v[i].samples *= scale;
		}
		assert_true(fabs(estimate(v, COUNT(v)).f / scale - 1527.25) < 1e-6);
	}
}

static void few_samples_are_summed(void **state)
{
	const struct dcpi_insn v[] = { I(4, 1), I(0, 1), I(11, 2), I(1, 0) };
	struct dcpi_estimate e = estimate(v, COUNT(v));

	(void)state;
	assert_true(e.few);
	assert_true(fabs(e.f - 4) < 1e-9);
	assert_int_equal(e.confidence, CONFIDENCE_LOW);
}

static void a_stall_between_does_not_hide_in_what_waits(void **state)
{
	/* the fourth waits four cycles for the first; a stall of the third has it wait for one */
	const struct dcpi_insn v[] = {
		I(1000, 1), I(1000, 1), I(4000, 1), { .samples = 1000, .least = 4, .cause = 0 }
	};
	struct dcpi_estimate e = estimate(v, COUNT(v));

	(void)state;
	assert_true(fabs(e.f - 1000) < 1e-9); /* and not 250 */
}

static void an_absurd_stall_drops_a_cluster(void **state)
{
	/* M of the first is far too large */
	const struct dcpi_insn v[] = { I(10, 4), I(2000, 1), I(2100, 1) };
	struct dcpi_estimate e = estimate(v, COUNT(v));

	(void)state;
	assert_int_equal(e.used, 2);
	assert_true(fabs(e.f - 2050) < 1e-9);
}

static void a_lone_small_ratio_is_no_cluster(void **state)
{
	const struct dcpi_insn v[] = { I(300, 1),  I(1000, 1), I(1010, 1),
				       I(1020, 1), I(1030, 1), I(9000, 1) };
	struct dcpi_estimate e = estimate(v, COUNT(v));

	(void)state;
	assert_int_equal(e.used, 4);
	assert_true(fabs(e.f - 1015) < 1e-9);
}

#define CLASS(...) \
	estimate((const struct dcpi_insn[]){ __VA_ARGS__ }, \
		 COUNT(((const struct dcpi_insn[]){ __VA_ARGS__ })))

/* The frequency, from both sides of each limit. */
static void rules_have_limits(void **state)
{
	(void)state;
	/* a cluster reaches to 1.5 times its least ratio */
	assert_true(CLASS(I(1000, 1), I(1500, 1)).f == 1250);
	assert_true(CLASS(I(1000, 1), I(1501, 1)).f == 1000);
	/* and has a quarter of the issue points */
	assert_true(CLASS(I(300, 1), I(1000, 1), I(1010, 1), I(1020, 1)).f == 300);
	assert_true(CLASS(I(300, 1), I(1000, 1), I(1010, 1), I(1020, 1), I(1030, 1)).f == 1015);
	/* no instruction stalls for more than 300 cycles */
	assert_true(CLASS(I(100, 1), I(30100, 1)).f == 100);
	assert_true(CLASS(I(100, 1), I(30101, 1)).f == 30101);
	/* fewer than 50 samples are summed up */
	assert_true(CLASS(I(20, 1), I(30, 1)).f == 25 && !CLASS(I(20, 1), I(30, 1)).few);
	assert_true(CLASS(I(19, 1), I(30, 1)).few);
	/* what issues along with a point has a tenth of its samples at most */
	assert_true(CLASS(I(1000, 1), I(100, 0), I(2000, 1)).f == 1000);
	assert_true(CLASS(I(1000, 1), I(101, 0), I(2000, 1)).f == 2000);
}

static void confidence_has_limits(void **state)
{
	(void)state;
	/* high: three points, 400 samples, within a quarter of each other, half of all points */
	assert_int_equal(CLASS(I(133, 1), I(133, 1), I(134, 1)).confidence, CONFIDENCE_HIGH);
	assert_int_equal(CLASS(I(133, 1), I(133, 1), I(133, 1)).confidence, CONFIDENCE_MEDIUM);
	assert_int_equal(CLASS(I(1000, 1), I(1000, 1)).confidence, CONFIDENCE_MEDIUM);
	assert_int_equal(CLASS(I(1000, 1), I(1000, 1), I(1250, 1)).confidence, CONFIDENCE_HIGH);
	assert_int_equal(CLASS(I(1000, 1), I(1000, 1), I(1251, 1)).confidence, CONFIDENCE_MEDIUM);
	assert_int_equal(
		CLASS(I(200, 1), I(200, 1), I(200, 1), I(900, 1), I(900, 1), I(900, 1)).confidence,
		CONFIDENCE_HIGH);
	assert_int_equal(
		CLASS(I(200, 1), I(200, 1), I(200, 1), I(900, 1), I(900, 1), I(900, 1), I(900, 1))
			.confidence,
		CONFIDENCE_MEDIUM);
	/* medium: two points, 100 samples */
	assert_int_equal(CLASS(I(50, 1), I(50, 1)).confidence, CONFIDENCE_MEDIUM);
	assert_int_equal(CLASS(I(49, 1), I(50, 1)).confidence, CONFIDENCE_LOW);
	assert_int_equal(CLASS(I(1000, 1)).confidence, CONFIDENCE_LOW);
}

static void without_issue_points_there_is_no_estimate(void **state)
{
	const struct dcpi_insn v[] = { I(1000, 0), I(5, 0) };

	(void)state;
	assert_int_equal(estimate(v, COUNT(v)).confidence, CONFIDENCE_NONE);
	assert_int_equal(estimate(v, 0).confidence, CONFIDENCE_NONE);
}

static void no_samples_are_no_executions(void **state)
{
	const struct dcpi_insn v[] = { I(0, 1), I(0, 0) };

	(void)state;
	assert_true(estimate(v, COUNT(v)).f == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_seeds_figure_7),
		cmocka_unit_test(scaling_samples_scales_the_estimate),
		cmocka_unit_test(few_samples_are_summed),
		cmocka_unit_test(a_stall_between_does_not_hide_in_what_waits),
		cmocka_unit_test(an_absurd_stall_drops_a_cluster),
		cmocka_unit_test(a_lone_small_ratio_is_no_cluster),
		cmocka_unit_test(rules_have_limits),
		cmocka_unit_test(confidence_has_limits),
		cmocka_unit_test(without_issue_points_there_is_no_estimate),
		cmocka_unit_test(no_samples_are_no_executions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
