/* SPDX-License-Identifier: MIT */
/* What the recorder makes of counters that it reads while the program goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine.h"

static struct engine g;
static struct exact_process *process;
static struct exact_thread *thread;
static uint64_t at;

static void begin(void)
{
	static const uint8_t code[] = { 0x90, 0x74, 0x00 }; /* nop; jz to the next instruction */
	struct exact_block *b;
	struct err err;

	assert_int_equal(engine_open(&g, ENGINE_COUNTS, &err), 0);
	process = engine_process(&g, &at);
	thread = engine_thread(&g, process);
	assert_non_null(thread);
	b = engine_block(&g, process, 0, sizeof(code), NULL, 0);
	assert_non_null(b);
	b->n = 2;
	memcpy(b->bytes, code, sizeof(code));
	b->bytes[sizeof(code)] = 1;
	b->bytes[sizeof(code) + 1] = 2;
}

static void poll_counters(void)
{
	struct err err;

	engine_tell(&g, process);
	assert_int_equal(exact_poll(g.e, true, &err), 0);
}

static void invert(void)
{
	struct exact_inverted *r = engine_record(&g, process, EXACT_INVERTED, sizeof(*r));

	assert_non_null(r);
	r->id = 0;
}

static void assert_counted(uint64_t executed, uint64_t taken)
{
	const struct site *s = sites_find(&g.profile.sites, (struct site_id){ .addr = 0x400001 });

	assert_non_null(s);
	assert_int_equal(s->observed, executed);
	assert_int_equal(s->taken, taken);
	engine_close(&g);
}

/* The block ran, its branch jumped, and the counters were read before the engine turned the branch around: from then on
 * the second counter is of executions that fall through, of which there was none. */
static void read_before_the_branch_is_inverted(void **state)
{
	uint64_t *counter;

	(void)state;
	begin();
	counter = engine_at(&g, thread->counters);
	counter[0] = 1;
	poll_counters();
	invert();
	poll_counters();
	assert_counted(1, 1);
}

/* The engine turned the branch around between the recorder's look at the log and that at the counters. */
static void read_between_log_and_counters(void **state)
{
	uint64_t *counter;

	(void)state;
	begin();
	counter = engine_at(&g, thread->counters);
	counter[0] = 5;
	counter[1] = 2; /* fell through */
	poll_counters();
	invert();
	counter[0] = 9;
	counter[1] = 3;
	poll_counters();
	assert_counted(9, 6);
}

static void not_inverted(void **state)
{
	uint64_t *counter;

	(void)state;
	begin();
	counter = engine_at(&g, thread->counters);
	counter[0] = 5;
	counter[1] = 2;
	poll_counters();
	counter[0] = 9;
	poll_counters();
	assert_counted(9, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_before_the_branch_is_inverted),
		cmocka_unit_test(read_between_log_and_counters),
		cmocka_unit_test(not_inverted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
