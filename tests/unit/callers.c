/* SPDX-License-Identifier: MIT */
/* Who called the instructions of a window, and the values that are kept by caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "observe/callers.h"
#include "store/recording.h"
#include "x86/insn.h"

#define LEN 4
#define MAIN 0x100 /* where calls return to */
#define OUTER 0x200
#define CODE 0x300
#define CALLEE 0x400

static struct err err;
static struct profile p;
static struct retired ri[256];
static struct window w;
static uint32_t innermost; /* main called outer, which called what runs */

static int setup(void **unused)
{
	struct stacks *s = &p.stacks;
	uint32_t f;

	(void)unused;
	if (profile_init(&p, &err))
		return -1;
	f = stacks_frame(s, 0, FRAME_ROOT, 0, 0);
	f = stacks_frame(s, f, FRAME_CALL, 0, MAIN);
	f = stacks_frame(s, f, FRAME_CALL, 0, OUTER);
	innermost = stacks_frame(s, f, FRAME_CODE, 0, CODE);
	w = (struct window){ .weight = 1, .ri = ri, .stack = innermost };
	p.windows = CALLERS_EVERY;
	memset(ri, 0, sizeof(ri));
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	profile_fini(&p);
	return 0;
}

static void add(uint64_t addr, int cls)
{
	ri[w.n++] = (struct retired){ .site.addr = addr, .cls = (uint8_t)cls, .len = LEN };
}

static void add_value(uint64_t addr, uint64_t value)
{
	struct retired *r = &ri[w.n];

	add(addr, INSN_OTHER);
	r->have = 1u << OPERAND_RESULT;
	r->value[OPERAND_RESULT] = value;
}

/* How often the value was seen at an instruction in calls from there. */
static uint64_t seen(const struct profile *in, uint64_t addr, uint64_t caller, uint64_t value)
{
	struct caller_key key = { .site.addr = addr, .caller.addr = caller };
	struct hot_value top;
	struct caller *c;

	c = callers_find(in, &key);
	if (!c || !hot_top(caller_hot(c, OPERAND_RESULT), &top, 1))
		return 0;
	assert_int_equal(top.value, value);
	return top.count;
}

/* The window calls, its callee returns, and the procedure that it began in returns. */
static void one_window(void)
{
	add_value(CODE, 1);
	add(CODE + 4, INSN_CALL);
	add_value(CALLEE, 2);
	add(CALLEE + 4, INSN_RET);
	add_value(CODE + 8, 3);
	add(CODE + 12, INSN_RET);
	add_value(OUTER, 4);
	add(OUTER + 4, INSN_RET);
	add_value(MAIN, 5);
}

static void test_follows_calls(void **state)
{
	(void)state;
	one_window();
	assert_int_equal(callers_window(&p, &w), 0);
	assert_int_equal(callers_count(&p), 4); /* nobody called main */
	assert_int_equal(seen(&p, CODE, OUTER, 1), 1);
	assert_int_equal(seen(&p, CALLEE, CODE + 4 + LEN, 2), 1);
	assert_int_equal(seen(&p, CODE + 8, OUTER, 3), 1);
	assert_int_equal(seen(&p, OUTER, MAIN, 4), 1);
}

/* More calls than are remembered: on the way out the callers of the outer ones are not known, and not wrong. */
static void test_deep(void **state)
{
	(void)state;
	for (int i = 0; i < CALLERS_DEPTH + 8; i++)
		add(CODE + 0x10 + LEN * (uint64_t)i, INSN_CALL);
	for (int i = 0; i < CALLERS_DEPTH; i++)
		add(CALLEE, INSN_RET);
	add_value(CALLEE + 4, 6);
	for (int i = 0; i < 8; i++)
		add(CALLEE, INSN_RET);
	add_value(CODE, 7);
	assert_int_equal(callers_window(&p, &w), 0);
	assert_int_equal(callers_count(&p), 1);
	assert_int_equal(seen(&p, CODE, OUTER, 7), 1);
}

static void test_without_stack(void **state)
{
	(void)state;
	one_window();
	w.stack = 0;
	assert_int_equal(callers_window(&p, &w), 0);
	w.stack = (uint32_t)p.stacks.nframe;
	assert_int_equal(callers_window(&p, &w), 0);
	assert_null(p.callers);
}

static void test_stored_and_merged(void **state)
{
	char path[] = "/tmp/assay-callers-XXXXXX";
	struct profile twice;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	one_window();
	for (int i = 0; i < 2; i++, p.windows += CALLERS_EVERY)
		assert_int_equal(callers_window(&p, &w), 0);
	assert_int_equal(recording_write(path, &p, &err), 0);
	assert_int_equal(profile_init(&twice, &err), 0);
	assert_int_equal(recording_read(path, &twice, &err), 0);
	unlink(path);
	assert_int_equal(seen(&twice, CALLEE, CODE + 4 + LEN, 2), 2);
	assert_int_equal(profile_merge(&twice, &p, &err), 0);
	assert_int_equal(seen(&twice, CALLEE, CODE + 4 + LEN, 2), 4);
	profile_fini(&twice);
}

/* What many windows saw stays when the table is full. */
static void test_full(void **state)
{
	(void)state;
	add_value(CODE, 1);
	for (int i = 0; i < 5; i++, p.windows += CALLERS_EVERY)
		assert_int_equal(callers_window(&p, &w), 0);
	for (uint64_t i = 1; i < CALLERS_MAX + 10; i++, p.windows += CALLERS_EVERY) {
		w.n = 0;
		add_value(CODE + i, i);
		assert_int_equal(callers_window(&p, &w), 0);
	}
	assert_true(callers_count(&p) <= CALLERS_MAX);
	assert_int_equal(seen(&p, CODE, OUTER, 1), 5);
	assert_int_equal(seen(&p, CODE + CALLERS_MAX + 9, OUTER, CALLERS_MAX + 9), 1);
	assert_int_equal(seen(&p, CODE + 1, OUTER, 1), 0); /* forgotten */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_follows_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stored_and_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
