/* SPDX-License-Identifier: MIT */
/* Miss ratios from reuse times, against LRU stacks: of all times, of those that samples see, and of watched lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "observe/curve.h"
#include "model/reuse.h"
#include "model/statstack.h"
#include "observe/distances.h"
#include "observe/reuses.h"

#define TRACE 400000
#define WINDOW 600 /* touches */
#define SIZES 12   /* of caches: 16 lines, 32, … */

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull >> 16;
}

static uint64_t trace[TRACE], next_touch[TRACE];
static double truth[SIZES];

static double lines_of(unsigned i)
{
	return 16 << i;
}

/* Of the trace: LRU stacks, and when each line is touched again (TRACE: never). */
static void know(void)
{
	struct reuse *r = reuse_new();
	uint64_t *last = calloc(1 << 20, sizeof(*last));

	assert_non_null(r);
	assert_non_null(last);
	memset(truth, 0, sizeof(truth));
	for (size_t i = 0; i < TRACE; i++) {
		uint64_t d = reuse_touch(r, trace[i]);

		for (unsigned k = 0; k < SIZES; k++)
			truth[k] += (d == REUSE_COLD || (double)d >= lines_of(k)) / (double)TRACE;
		next_touch[i] = TRACE;
		if (last[trace[i]])
			next_touch[last[trace[i]] - 1] = i;
		last[trace[i]] = i + 1;
	}
	reuse_free(r);
	free(last);
}

/* A touch whose next one is looked for until `end`. */
static void see(uint64_t *ended, uint64_t *left, unsigned n, size_t at, size_t end)
{
	bool seen = next_touch[at] < end;
	unsigned b = distance_bucket((seen ? next_touch[at] : end - 1) - at);

	assert_true(b < n);
	(seen ? ended : left)[b] += REUSES_UNIT;
}

static void windows(struct reuses *u, unsigned number)
{
	for (unsigned i = 0; i < number; i++) {
		size_t begin = draw() % (TRACE - WINDOW);

		u->windows++;
		u->touches += WINDOW * REUSES_UNIT;
		for (size_t k = begin; k < begin + WINDOW; k++)
			see(u->near_ended, u->near_left, REUSES_NEAR, k, begin + WINDOW);
	}
}

/* Far times by a clock of a touch a ns times `slow`, as a watchpoint sees them. */
static void watch(struct reuses *u, unsigned number, uint64_t slow)
{
	while (number) {
		size_t at = draw() % TRACE;
		uint64_t time = (next_touch[at] - at) * slow;

		if (next_touch[at] - at <= REUSES_LONG)
			continue;
		number--;
		u->watched++;
		u->watches += REUSES_UNIT;
		u->same += REUSES_UNIT;
		if (next_touch[at] == TRACE)
			u->far_left[distance_bucket(time)] += REUSES_UNIT;
		else if (time < REUSES_SOON_NS)
			u->soon += REUSES_UNIT;
		else
			u->far_ended[distance_bucket(time)] += REUSES_UNIT;
	}
}

static double off(const struct statstack *s)
{
	double sum = 0;

	for (unsigned k = 0; k < SIZES; k++) {
		double d = statstack_misses(s, lines_of(k)) - truth[k];

		sum += d < 0 ? -d : d;
	}
	return sum / SIZES;
}

static void check(double most)
{
	struct reuses u = { 0 };
	struct statstack s;

	know();
	windows(&u, 2000);
	watch(&u, 2000, 20);
	assert_int_equal(curve_of(&s, &u, 1.0 / 20, 1), 0);
	if (off(&s) > most)
		fail_msg("off by %.3f", off(&s));
	assert_true(statstack_misses(&s, 0) > 0.99);
	for (unsigned k = 1; k < SIZES; k++)
		assert_true(statstack_misses(&s, lines_of(k)) <=
			    statstack_misses(&s, lines_of(k - 1)));
	statstack_fini(&s);
}

static void test_uniform(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++)
		trace[i] = draw() % 8000;
	check(0.02);
}

static void test_zipf(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++) {
		uint64_t span = 1ull << draw() % 16;

		trace[i] = span + draw() % span;
	}
	check(0.02);
}

/* Round and round: nothing fits, then all does. */
static void test_scan(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++)
		trace[i] = i % 12000;
	check(0.03);
}

/* Two lines in turns, some 40 of a small set, and a walk that never comes again. */
static void test_mixed(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TRACE; i++)
		trace[i] = i % 4 < 2 ? i % 2 : i % 4 == 2 ? 2 + draw() % 40 : 100 + i / 4;
	check(0.02);
	assert_true(truth[SIZES - 1] > 0.24);
}

/* Times that were not seen to their end count as long as they were. */
static void test_left_alive(void **unused)
{
	uint64_t ended[8] = { 0, 50, 25, 0, 10 }, left[8] = { 0, 0, 0, 5, 0, 10 };
	double alive[8];

	(void)unused;
	assert_int_equal(survival(ended, left, 8, 0, alive), 5);
	assert_float_equal(alive[0], 1, 1e-9);
	assert_float_equal(alive[1], 0.5, 1e-9);
	assert_float_equal(alive[2], 0.25, 1e-9);
	assert_float_equal(alive[3], 0.25, 1e-9);
	assert_float_equal(alive[4], 0.125, 1e-9); /* 10 of the 20 that were still there */
	assert_float_equal(alive[7], 0.125, 1e-9);
	assert_int_equal(survival(ended, left, 8, 2, alive), 5);
	assert_float_equal(alive[2], 0.5, 1e-9);
}

/* Nothing, or not much: no curve, or one that ends where windows do. */
static void test_little(void **unused)
{
	struct reuses u = { 0 };
	struct statstack s;

	(void)unused;
	assert_int_equal(curve_of(&s, &u, 1, 1), -1);
	u.near_left[0] = REUSES_UNIT;
	assert_int_equal(curve_of(&s, &u, 1, 1), 0);
	assert_float_equal(statstack_misses(&s, 1), 1, 1e-9);
	statstack_fini(&s);
	u.watches = u.soon = u.before = REUSES_UNIT;
	assert_int_equal(curve_of(&s, &u, 0, 1), 0);
	statstack_fini(&s);
}

/* What a window has: the distances between touches of a line, and each line's last touch. */
static void test_window(void **unused)
{
	struct retired ri[6] = { 0 };
	const uint64_t at[6] = { 0x1000, 0x2000, 0x1038, 0x103c, 0, 0x2008 };
	struct window w = { .pid = 7, .n = 6, .ri = ri };
	struct profile p;
	struct reuses *u;
	struct err err;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	for (unsigned i = 0; i < 6; i++) {
		ri[i].have = at[i] ? 1u << OPERAND_ADDRESS : 0;
		ri[i].value[OPERAND_ADDRESS] = at[i];
		ri[i].access = 8; /* the fourth crosses lines */
	}
	assert_int_equal(reuses_window(&p, &w, 2), 0);
	u = reuses_get(&p, 0, 7);
	assert_non_null(u);
	assert_int_equal(u->windows, 1);
	assert_int_equal(u->touches, 6 * 2 * REUSES_UNIT);
	assert_int_equal(u->touches_square, 12 * 12 * REUSES_UNIT);
	assert_int_equal(u->instructions, 6 * 2 * REUSES_UNIT);
	/* touches: 1000 2000 1000 1000 1040 2000 */
	assert_int_equal(u->near_ended[1], 2 * REUSES_UNIT);
	assert_int_equal(u->near_ended[2], 2 * REUSES_UNIT);
	assert_int_equal(u->near_ended[4], 2 * REUSES_UNIT);
	assert_int_equal(u->near_left[0], 2 * REUSES_UNIT);
	assert_int_equal(u->near_left[1], 2 * REUSES_UNIT);
	assert_int_equal(u->near_left[2], 2 * REUSES_UNIT);
	profile_fini(&p);
}

/* A window counts for the region where it begins, too; where there are too many, those of the fewest windows go. */
static void test_regions(void **unused)
{
	struct retired ri = { .have = 1u << OPERAND_ADDRESS, .access = 8 };
	struct window w = { .pid = 7, .n = 1, .ri = &ri };
	struct profile p, all;
	struct reuses *u, *r;
	struct err err;

	(void)unused;
	assert_int_equal(profile_init(&p, &err), 0);
	for (unsigned i = 0; i < 3 * REUSES_REGIONS; i++) {
		w.start.addr = 0x1008; /* again and again */
		assert_int_equal(reuses_window(&p, &w, 1), 0);
		w.start.addr = 0x2000 + 16 * i;
		assert_int_equal(reuses_window(&p, &w, 1), 0);
	}
	u = reuses_find(&p, 0, 7);
	assert_int_equal(u->windows, 6 * REUSES_REGIONS);
	assert_in_range(HASH_COUNT(u->regions), REUSES_REGIONS / 2, REUSES_REGIONS);
	assert_int_equal(p.reuse_regions, HASH_COUNT(u->regions));
	r = reuses_region_find(u, reuses_place((struct site_id){ .addr = 0x100f }));
	assert_non_null(r);
	assert_int_equal(r->windows, 3 * REUSES_REGIONS);
	assert_int_equal(r->near_left[0], 3 * REUSES_REGIONS * REUSES_UNIT);
	/* … and they are what they were in another profile */
	assert_int_equal(profile_init(&all, &err), 0);
	assert_int_equal(profile_merge(&all, &p, &err), 0);
	u = reuses_find(&all, 0, 7);
	assert_int_equal(HASH_COUNT(u->regions), p.reuse_regions);
	assert_int_equal(reuses_region_find(u, r->place)->windows, r->windows);
	/* a process is its regions and what is left */
	for (r = u->regions; r; r = r->hh.next)
		curve_remove(u, r);
	assert_int_equal(u->windows, 3 * REUSES_REGIONS - (HASH_COUNT(u->regions) - 1));
	profile_fini(&all);
	profile_fini(&p);
}

/* What is weighed half as much says the same, and a quarter of it in squares. */
static void test_scaled(void **unused)
{
	struct reuses u = { .touches = 4 * REUSES_UNIT,
			    .touches_square = 8 * REUSES_UNIT,
			    .near_ended = { [3] = 2 * REUSES_UNIT } };
	struct reuses half = { 0 };

	(void)unused;
	curve_add(&half, &u, 0.5);
	assert_int_equal(half.touches, 2 * REUSES_UNIT);
	assert_int_equal(half.touches_square, 2 * REUSES_UNIT);
	assert_int_equal(half.near_ended[3], REUSES_UNIT);
	curve_remove(&half, &u);
	assert_int_equal(half.touches, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uniform),	   cmocka_unit_test(test_zipf),
		cmocka_unit_test(test_scan),	   cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_left_alive), cmocka_unit_test(test_little),
		cmocka_unit_test(test_window),	   cmocka_unit_test(test_regions),
		cmocka_unit_test(test_scaled),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
