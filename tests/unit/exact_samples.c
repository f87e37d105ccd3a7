/* SPDX-License-Identifier: MIT */
/* Samples that are added to a recording one by one, each times its weight; and how many batches have seen a site. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/exact_samples.h"
#include "observe/cycles.h"
#include "observe/misses.h"

static struct err err;
static struct profile to, *part;
static struct exact_samples samples;
static struct schedule schedule;
static uint64_t number;

static void begin(void)
{
	memset(&schedule, 0, sizeof(schedule));
	schedule.size = 1000;
	assert_int_equal(
		schedule_parse_targets(&schedule, "s1000:w2.5:s4000:w3:s8000:e10000", &err), 0);
	assert_int_equal(schedule_settle(&schedule, &err), 0);
	assert_int_equal(profile_init(&to, &err), 0);
	assert_int_equal(exact_samples_begin(&samples, &schedule, "test", &to, &part, &err), 0);
	assert_ptr_equal(part, &samples.part);
	number = 0;
}

static void end(void)
{
	exact_samples_fini(&samples);
	profile_fini(&to);
	schedule_fini(&schedule);
}

/* What the recorder does with counters: n more executions at the address, n may be less than 0. */
static struct site *executed(uint64_t address, int n)
{
	struct site *s = profile_site(part, (struct site_id){ .image = 0, .addr = address });

	assert_non_null(s);
	s->observed += (uint64_t)(int64_t)n;
	assert_int_equal(sites_note(&part->sites, s), 0);
	return s;
}

static void closed(void)
{
	struct exact_sample one = { .number = number, .begin = 0, .end = 1000 };

	number++;
	assert_int_equal(samples.sampling.closed(samples.sampling.arg, &one, 1, &err), 0);
}

static const struct site *in_sum(uint64_t address)
{
	return profile_site_find(&to, (struct site_id){ .image = 0, .addr = address });
}

/* Each sample counts as often as its weight says, at sites, and in what a simulation counts there. */
static void weighted(void **state)
{
	const struct misses *m;
	const struct cycles *c;

	(void)state;
	begin();
	misses_at(part, executed(16, 100))->n[MISS_L1D] = 7;
	cycles_at(part, executed(16, 0))->n[TIMING_BASE] = 5 * TIMING_TICKS;
	executed(32, 9);
	closed();
	executed(16, 10);
	closed();
	misses_at(part, executed(16, 1))->n[MISS_L1D] = 1;
	executed(48, 4);
	closed();
	assert_int_equal(in_sum(16)->observed, 100 + 25 + 3);
	assert_int_equal(in_sum(16)->windows, 3);
	assert_int_equal(in_sum(32)->observed, 9);
	assert_int_equal(in_sum(32)->windows, 1);
	assert_int_equal(in_sum(48)->observed, 12);
	m = misses_find(&to, in_sum(16)->id);
	assert_int_equal(m->n[MISS_L1D], 7 + 3);
	c = cycles_find(&to, in_sum(16)->id);
	assert_int_equal(c->n[TIMING_BASE], 5 * TIMING_TICKS);
	assert_null(cycles_find(&to, in_sum(32)->id));
	assert_int_equal(samples.sampled->nbatch, 3);
	assert_int_equal(samples.sampled->batch[0].n[SAMPLED_INSTRUCTIONS], 109);
	assert_int_equal(samples.sampled->batch[0].n[SAMPLED_CYCLES], 5);
	assert_int_equal(samples.sampled->batch[1].n[SAMPLED_INSTRUCTIONS], 10);
	assert_int_equal(samples.sampled->batch[1].n[SAMPLED_MISSES + MISS_L1D], 0);
	assert_int_equal(samples.sampled->batch[2].n[SAMPLED_MISSES + MISS_L1D], 1);
	end();
}

/* The part has nothing left of a sample that was added, at any site. */
static void emptied(void **state)
{
	struct site *s;

	(void)state;
	begin();
	for (uint64_t i = 0; i < 3000; i++)
		misses_at(part, executed(16 * i, 2))->n[MISS_ACCESSES] = 1;
	closed();
	SITES_EACH(&part->sites, s)
	{
		assert_int_equal(s->observed, 0);
		assert_null(misses_row(part, s));
	}
	assert_int_equal(part->sites.nnote, 0);
	executed(16, 1);
	assert_int_equal(part->sites.nnote, 1);
	closed();
	assert_int_equal(in_sum(16)->windows, 2);
	assert_int_equal(in_sum(32)->windows, 1);
	assert_int_equal(in_sum(16 * 2999)->observed, 2);
	end();
}

/*
 * An execution that a signal cut off is counted in one batch and may be taken back in a later one: then no batch has seen
 * the site; and batches are never more than executions.
 */
static void limited(void **state)
{
	(void)state;
	begin();
	executed(16, 1);
	executed(32, 2);
	closed();
	samples.schedule = &(struct schedule){ .kind = SCHEDULE_SINGLE, .size = 1000 };
	executed(16, -1);
	executed(32, -1);
	closed();
	assert_int_equal(in_sum(16)->observed, 0);
	assert_int_equal(in_sum(16)->windows, 0);
	assert_int_equal(in_sum(32)->observed, 1);
	assert_int_equal(in_sum(32)->windows, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weighted),
		cmocka_unit_test(emptied),
		cmocka_unit_test(limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
