/* SPDX-License-Identifier: MIT */
/* The policy of slots on windows whose values are known: what it masks, which windows it passes over, and that the shares
 * of what is left are those of all windows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "x86/insn.h"
#include "x86/uop.h"
#include "observe/profile.h"
#include "sampler/slots.h"

#define CODE 0x1000

static uint64_t filter[FILTER_PLACES];

static struct slots *begin(void)
{
	struct slots *s;

	memset(filter, 0, sizeof(filter));
	s = slots_new(filter);
	assert_non_null(s);
	return s;
}

static struct site_id at(uint64_t addr)
{
	return (struct site_id){ .image = 1, .addr = addr };
}

/* A window of n executions of the load at addr. */
static void window(struct slots *s, uint64_t addr, const uint64_t *value, uint32_t n)
{
	struct retired ri[64] = { 0 };
	struct window w = { .n = n, .start = at(addr), .ri = ri };

	for (uint32_t i = 0; i < n; i++) {
		ri[i].site = at(addr);
		ri[i].have = 1u << OPERAND_LOAD;
		ri[i].value[OPERAND_LOAD] = value[i];
	}
	assert_int_equal(slots_window(s, &w), 0);
}

static void windows_of(struct slots *s, uint64_t addr, uint64_t value, unsigned n)
{
	while (n--)
		window(s, addr, &value, 1);
}

static uint64_t level(uint64_t addr)
{
	return filter[filter_place(1, addr)];
}

/* One value: masked once there is enough, and not before. */
static void test_constant(void **state)
{
	struct slots *s = begin();
	struct slots_counts n;

	(void)state;
	windows_of(s, CODE, 7, SLOTS_ENOUGH - 1);
	assert_false(slots_masked(s, at(CODE), OPERAND_LOAD));
	assert_int_equal(level(CODE), 0);
	windows_of(s, CODE, 7, 1);
	assert_true(slots_masked(s, at(CODE), OPERAND_LOAD));
	assert_false(slots_masked(s, at(CODE), OPERAND_RESULT));
	/* the windows that this place is judged by next are all of what is masked */
	windows_of(s, CODE, 7, (FILTER_LEVELS - 1) * PLACE_WINDOWS);
	assert_int_equal(level(CODE), FILTER_LEVELS - 1);
	windows_of(s, CODE, 7, 4 * PLACE_WINDOWS);
	assert_int_equal(level(CODE), FILTER_LEVELS - 1);
	slots_count(s, &n);
	assert_int_equal(n.operands, 1);
	assert_int_equal(n.masked, 1);
	slots_free(s);
}

/* A window's loop counts four times, however long it is. */
static void test_loop(void **state)
{
	struct slots *s = begin();
	uint64_t value[64] = { 0 };

	(void)state;
	for (unsigned i = 1; i < SLOTS_ENOUGH / SLOTS_WINDOW; i++)
		window(s, CODE, value, 64);
	assert_false(slots_masked(s, at(CODE), OPERAND_LOAD));
	window(s, CODE, value, 64);
	assert_true(slots_masked(s, at(CODE), OPERAND_LOAD));
	slots_free(s);
}

/* A value that is never the same: known, too. */
static void test_variant(void **state)
{
	struct slots *s = begin();

	(void)state;
	for (uint64_t i = 0; i < SLOTS_ENOUGH; i++)
		window(s, CODE, &i, 1);
	assert_true(slots_masked(s, at(CODE), OPERAND_LOAD));
	slots_free(s);
}

/* A value that is there half of the time is known when two slots agree. */
static void test_half(void **state)
{
	struct slots *s = begin();

	(void)state;
	for (uint64_t i = 0; i < SLOTS_ENOUGH; i++)
		windows_of(s, CODE, i % 2, 1);
	assert_false(slots_masked(s, at(CODE), OPERAND_LOAD));
	for (uint64_t i = 0; i < SLOTS_ENOUGH; i++)
		windows_of(s, CODE, i % 2, 1);
	assert_true(slots_masked(s, at(CODE), OPERAND_LOAD));
	slots_free(s);
}

/* A masked operand is judged again; where it has changed its place is looked at each time, and it is masked for a
 * short pause; where it has not, for twice as long each time. */
static void test_again(void **state)
{
	struct slots *s = begin();
	unsigned waited[4] = { 0 };

	(void)state;
	windows_of(s, CODE, 7, SLOTS_ENOUGH);
	for (unsigned round = 0; round < 4; round++) {
		while (slots_masked(s, at(CODE), OPERAND_LOAD)) {
			windows_of(s, CODE, 7, 1);
			waited[round]++;
		}
		/* the last time it has another value */
		windows_of(s, CODE, round < 3 ? 7 : 8, SLOTS_ENOUGH);
		assert_true(slots_masked(s, at(CODE), OPERAND_LOAD));
	}
	assert_in_range(waited[0], SLOTS_LOOK - 2 * SLOTS_ENOUGH, SLOTS_LOOK);
	assert_in_range(waited[1], 2 * SLOTS_LOOK - 2 * SLOTS_ENOUGH, 2 * SLOTS_LOOK);
	assert_in_range(waited[2], 4 * SLOTS_LOOK - 2 * SLOTS_ENOUGH, 4 * SLOTS_LOOK);
	waited[0] = 0;
	while (slots_masked(s, at(CODE), OPERAND_LOAD)) {
		windows_of(s, CODE, 8, 1);
		waited[0]++;
	}
	assert_in_range(waited[0], 1, SLOTS_LOOK);
	slots_free(s);
}

/* New code in a place that was passed over is looked at each time. */
static void test_new_code(void **state)
{
	struct slots *s = begin();

	(void)state;
	windows_of(s, CODE, 7, SLOTS_ENOUGH + 4 * PLACE_WINDOWS);
	assert_int_equal(level(CODE), FILTER_LEVELS - 1);
	windows_of(s, CODE + 16, 7, PLACE_WINDOWS);
	assert_int_equal(level(CODE), 0);
	slots_free(s);
}

/* A window of 64 loads of one value each, of `many` that are equally likely. */
static void window_of_many(struct slots *s, uint64_t *random, uint64_t many)
{
	struct retired ri[64] = { 0 };
	struct window w = { .n = 64, .start = at(CODE), .ri = ri };

	for (uint32_t i = 0; i < 64; i++) {
		ri[i].site = at(CODE + 16 * random_below(random, many));
		ri[i].have = 1u << OPERAND_LOAD;
		ri[i].value[OPERAND_LOAD] = 7;
	}
	assert_int_equal(slots_window(s, &w), 0);
}

/* How many have been judged after so many looks. */
static uint64_t judged(uint64_t many, unsigned looks, struct slots_counts *n)
{
	struct slots *s = begin();
	uint64_t random = 4711;

	for (unsigned i = 0; i < looks * SLOTS_LOOK; i++)
		window_of_many(s, &random, many);
	slots_count(s, n);
	slots_free(s);
	return n->judged;
}

/* Eight times as many operands as slots: they thrash, then parts take turns, and in these operands are judged. */
static void test_thrash(void **state)
{
	struct slots_counts n;

	(void)state;
	assert_in_range(judged(8 * SLOTS, 128, &n), SLOTS / 2, UINT64_MAX);
	assert_in_range(n.thrashed, 1, SLOTS_PARTS);
	assert_in_range(n.masked + n.reopened, SLOTS / 2, UINT64_MAX);
}

/* Operands that have slots side by side are judged without turns. */
static void test_room(void **state)
{
	struct slots_counts n;

	(void)state;
	assert_in_range(judged(SLOTS / 4, 4, &n), SLOTS / 4, UINT64_MAX);
	assert_int_equal(n.thrashed, 0);
}

/*
 * A program of two places. From the first, where all is known and most windows are passed over, the load at SHARED mostly
 * loads 1; from the other one, where each window has a value of new code, it loads 2. Halfway the first one changes its mind.
 */
#define SHARED 0x900000
#define WINDOWS 60000

static uint64_t shared_value(uint64_t *random, bool known, unsigned i)
{
	return !known ? 2 : random_below(random, 10) < (i < WINDOWS / 2 ? 9 : 6) ? 1 : 3;
}

/* The shares of the values 1, 2, 3. Returns how many windows were run. */
static unsigned simulate(bool policy, double share[4])
{
	static struct profile p;
	struct slots *s = begin();
	uint64_t random = 12345, draw = 6789;
	struct hot_value top[4];
	struct hot *list;
	unsigned run = 0, n;
	struct err err;

	assert_int_equal(profile_init(&p, &err), 0);
	assert_non_null(profile_image(&p, IMAGE_FILE, "/bin/x", "ab"));
	for (unsigned i = 0; i < WINDOWS; i++) {
		bool known = random_below(&random, 4) != 0;
		uint64_t start = known ? CODE : 0x100000 + 64 * (uint64_t)i;
		struct retired ri[2] = { { .site = at(start), .cls = INSN_OTHER, .len = 4 },
					 { .site = at(SHARED), .cls = INSN_OTHER, .len = 4 } };
		struct window w = {
			.n = 2, .start = at(start), .ri = ri, .weight = 1e6, .time = i
		};
		uint64_t of = policy ? level(start) : 0;

		ri[0].have = ri[1].have = 1u << OPERAND_LOAD;
		ri[0].value[OPERAND_LOAD] = 5;
		ri[1].value[OPERAND_LOAD] = shared_value(&random, known, i);
		w.stands = policy ? 1u << of : 0;
		if (random_bits(&draw) >> 32 & ((1u << of) - 1)) {
			w.stands = w.n = 0;
			w.stop = RA_STOP_PASSED;
		}
		run += w.n != 0;
		assert_int_equal(slots_window(s, &w), 0);
		assert_int_equal(profile_window(&p, &w), 0);
	}
	list = profile_operand(&p, profile_site(&p, at(SHARED)), OPERAND_LOAD);
	n = hot_top(list, top, 4);
	assert_int_equal(n, 3);
	for (unsigned i = 0; i < n; i++)
		share[top[i].value] = top[i].weight / hot_weight(list);
	profile_fini(&p);
	slots_free(s);
	return run;
}

/* What is passed over does not move the shares that weights give, though it moves which windows are run. */
static void test_weights(void **state)
{
	double all[4] = { 0 }, part[4] = { 0 };
	unsigned run = simulate(true, part);

	(void)state;
	assert_int_equal(simulate(false, all), WINDOWS);
	assert_true(run < 0.6 * WINDOWS);
	for (unsigned v = 1; v < 4; v++)
		assert_true(fabs(all[v] - part[v]) < 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant), cmocka_unit_test(test_loop),
		cmocka_unit_test(test_variant),	 cmocka_unit_test(test_half),
		cmocka_unit_test(test_again),	 cmocka_unit_test(test_new_code),
		cmocka_unit_test(test_thrash),	 cmocka_unit_test(test_room),
		cmocka_unit_test(test_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
