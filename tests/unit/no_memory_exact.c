/* SPDX-License-Identifier: MIT */
/* Reading what exact runs tell, in each way of observing, without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/engine.h"
#include "support/no_memory.h"

static enum engine_mode mode;

/* A process that ran a few blocks of this test's file, and has ended. */
static bool tell_process(struct engine *g)
{
	uint64_t at;
	struct exact_process *p = engine_process(g, &at);
	struct exact_field field = {
		.word = EXACT_CONSTANT, .from = 64, .to = 64, .operand = OPERAND_RESULT
	};
	struct exact_thread *t = p ? engine_thread(g, p) : NULL;
	struct exact_image *image = t ? engine_record(g, p, EXACT_IMAGE, sizeof(*image)) : NULL;

	if (!image)
		return false;
	image->number = 1;
	image->start = 0x400000;
	image->end = 0x500000;
	snprintf(image->path, sizeof(image->path), "/proc/self/exe");
	for (uint32_t i = 0; i < 8; i++) {
		struct exact_block *b = engine_block(g, p, i, 4, &field, mode == ENGINE_VALUES);

		b->image = i % 2;
		if (t->counters)
			((uint64_t *)engine_at(g, t->counters))[2 * i] = 5 + i;
	}
	engine_tell(g, p);
	__atomic_store_n(&p->state, EXACT_ENDED, __ATOMIC_RELEASE);
	return true;
}

static bool read_process(struct err *err)
{
	static struct engine g;
	bool ok;

	if (engine_open(&g, mode, err))
		return false;
	assert_true(tell_process(&g));
	ok = !exact_poll(g.e, true, err) && !exact_flush(g.e, err) && !exact_finish(g.e, err);
	engine_close(&g);
	return ok;
}

static void exact_runs_are_read(void **state)
{
	(void)state;
	for (mode = 0; mode < ENGINE_MODE_N; mode++)
		assert_true(try_all(read_process) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_runs_are_read),
	};

	count_libraries();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
