/* SPDX-License-Identifier: MIT */
/* Schedules: specifications as the RSIML manual has them, and everything that is wrong with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "stream/schedule.h"

static struct schedule parsed(const char *text)
{
	struct schedule s = { 0 };
	struct err err;

	assert_int_equal(schedule_parse(&s, text, &err), 0);
	return s;
}

/* The example of the manual's section on targeted sampling. */
static void example(void **state)
{
	struct schedule s = parsed("m1000:s500:w2:s1800:m1:e1874500");
	struct err err;

	(void)state;
	s.size = 50000;
	s.warmup = 10000;
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.kind, SCHEDULE_TARGETED);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.sample[0].start, 500000);
	assert_true(schedule_weight(&s, 0) == 1);
	assert_int_equal(s.sample[1].start, 1800000);
	assert_true(schedule_weight(&s, 1) == 2);
	assert_int_equal(s.end, 1874500);
	assert_true(schedule_matches(&s, 1874500 - 1000) && schedule_matches(&s, 1874500 + 1000));
	assert_false(schedule_matches(&s, 1874500 - 1001) || schedule_matches(&s, 1874500 + 1001));
	schedule_fini(&s);
}

static void fuzz_rule(void **state)
{
	(void)state;
	assert_int_equal(schedule_fuzz(1), 1000);
	assert_int_equal(schedule_fuzz(25000000), 1000);
	assert_int_equal(schedule_fuzz(50000000), 2000);
	assert_int_equal(schedule_fuzz(1000000000000), 40000000);
}

/* Weights and multipliers hold for what follows them; numbers are decimal, with fractions and exponents. */
static void sticky(void **state)
{
	struct schedule s = parsed("w0.5:s10:s1e3:w3:m1e3:s1.5:s2:e5");

	(void)state;
	assert_int_equal(s.n, 4);
	assert_true(s.sample[0].weight == 0.5 && s.sample[1].weight == 0.5);
	assert_true(s.sample[2].weight == 3 && s.sample[3].weight == 3);
	assert_int_equal(s.sample[0].start, 10);
	assert_int_equal(s.sample[1].start, 1000);
	assert_int_equal(s.sample[2].start, 1500);
	assert_int_equal(s.sample[3].start, 2000);
	assert_int_equal(s.end, 5000);
	schedule_fini(&s);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{ "", "column 1, \"\": an empty item" },
		{ "s5:", "column 4, \"\": an empty item" },
		{ "s5::e100", "column 4, \"\": an empty item" },
		{ "x5:e100", "column 1, \"x5\": no w, m, s or e" },
		{ "s5:e", "column 4, \"e\": no number" },
		{ "s5:e1x", "column 4, \"e1x\": no number" },
		{ "s0x10:e100", "column 1, \"s0x10\": no number" },
		{ "snan:e100", "column 1, \"snan\": no number" },
		{ "s1e999:e100", "column 1, \"s1e999\": no number" },
		{ "s1e16:e1e17", "column 1, \"s1e16\": more than 1e15" },
		{ "s-5:e100", "column 1, \"s-5\": less than no" },
		{ "s5", "no e in it" },
		{ "e100", "no s in it" },
		{ "s5:e100:e200", "column 9, \"e200\": a second end" },
		{ "s5:e0", "column 4, \"e0\": a benchmark without" },
		{ "s5:s5:e100", "column 4, \"s5\": a sample that does not begin behind" },
		{ "s50:s5:e100", "column 5, \"s5\": a sample that does not begin behind" },
		{ "w0:s5:e100", "column 1, \"w0\": a weight" },
		{ "s5:w-1:s6:e100", "column 4, \"w-1\": a weight" },
		{ "m0:s5:e100", "column 1, \"m0\": a multiplier" },
		{ "whole:size=1", "whole has no settings" },
		{ "periodic:size", "column 10, \"size\": no size=" },
		{ "periodic:size=0", "column 10, \"size=0\": less than one" },
		{ "periodic:size=1.5", "column 10, \"size=1.5\": no whole" },
		{ "periodic:size=5,pace=3", "column 17, \"pace=3\": no size=" },
		{ "single:size=5,", "column 15, \"\": no size=" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct schedule s = { 0 };
		struct err err;

		assert_int_equal(schedule_parse(&s, wrong[i].text, &err), -1);
		if (!strstr(err.msg, wrong[i].message))
			fail_msg("%s: %s", wrong[i].text, err.msg);
		schedule_fini(&s);
	}
}

static void overlapping(void **state)
{
	struct schedule s = parsed("s100:s150:e1000");
	struct err err;

	(void)state;
	s.size = 51;
	assert_int_equal(schedule_settle(&s, &err), -1);
	assert_non_null(
		strstr(err.msg, "column 1: the sample at 100, of 51 instructions, overlaps"));
	s.size = 50;
	assert_int_equal(schedule_settle(&s, &err), 0);
	s.size = 50;
	s.end = 199;
	assert_int_equal(schedule_settle(&s, &err), -1);
	assert_non_null(strstr(err.msg, "column 6: the sample at 150"));
	assert_non_null(strstr(err.msg, "beyond the end"));
	schedule_fini(&s);
}

static void periods(void **state)
{
	struct schedule s = parsed("periodic:size=100,period=1000");
	struct err err;

	(void)state;
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.skip, 450); /* the middle */
	assert_true(schedule_weight(&s, 7) == 10);
	s = parsed("periodic:size=100,period=1000,skip=0");
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.skip, 0);
	s = parsed("periodic:size=1001,period=1000");
	assert_int_equal(schedule_settle(&s, &err), -1);
	assert_non_null(strstr(err.msg, "overlap"));
	/* a kind that nobody named: targets, else periodic if the period exceeds the size, else single, else whole */
	s = (struct schedule){ .size = 10, .period = 11 };
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.kind, SCHEDULE_PERIODIC);
	s = (struct schedule){ .size = 10, .period = 10 };
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.kind, SCHEDULE_SINGLE);
	s = (struct schedule){ 0 };
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.kind, SCHEDULE_WHOLE);
}

static int lines(struct schedule *s, const char *text, struct err *err)
{
	*s = (struct schedule){ 0 };
	return schedule_parse_lines(s, text, strlen(text), "file", err);
}

static void files(void **state)
{
	struct schedule s;
	struct err err;

	(void)state;
	assert_int_equal(lines(&s,
			       "     ss_target_spec m1000:s500:w2:s1800:m1:e1874500\n"
			       "     ss_sample_size    50000\r\n\n# a remark\n"
			       "\tss_warmup_size\t10000",
			       &err),
			 0);
	assert_int_equal(schedule_settle(&s, &err), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.size, 50000);
	assert_int_equal(s.warmup, 10000);
	schedule_fini(&s);
	assert_int_equal(lines(&s, "ss_sample_size 5\nss_sample_sise 5\n", &err), -1);
	assert_non_null(strstr(err.msg, "file, line 2, \"ss_sample_sise 5\": no setting"));
	assert_int_equal(lines(&s, "ss_sample_size 5 6\n", &err), -1);
	assert_non_null(strstr(err.msg, "file, line 1: more than"));
	assert_int_equal(lines(&s, "\nss_target_spec s1:e\n", &err), -1);
	assert_non_null(strstr(err.msg, "file, line 2: target specification, column 4"));
	schedule_fini(&s);
	assert_int_equal(schedule_parse_lines(&s, "a\0b", 3, "file", &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example), cmocka_unit_test(fuzz_rule),	  cmocka_unit_test(sticky),
		cmocka_unit_test(refused), cmocka_unit_test(overlapping), cmocka_unit_test(periods),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
