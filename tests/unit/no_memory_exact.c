/* SPDX-License-Identifier: MIT */
/* Reading what exact runs tell, in each way of observing, without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/engine.h"
#include "support/no_memory.h"

void *__real_mmap(void *addr, size_t n, int prot, int flags, int fd, off_t at);
void *__wrap_mmap(void *addr, size_t n, int prot, int flags, int fd, off_t at);

/* Mappings need memory as well. */
void *__wrap_mmap(void *addr, size_t n, int prot, int flags, int fd, off_t at)
{
	return fails() ? MAP_FAILED : __real_mmap(addr, n, prot, flags, fd, at);
}

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

/* As the recorder does: when reading fails, it still finishes, and takes the totals. */
static bool read_process(struct err *err)
{
	static struct engine g;
	struct exact_totals totals;
	struct err why;
	bool ok;

	if (engine_open(&g, mode, err))
		return false;
	assert_true(tell_process(&g));
	ok = !exact_poll(g.e, true, err) && !exact_flush(g.e, err);
	if (exact_finish(g.e, &why) && ok) {
		*err = why;
		ok = false;
	}
	exact_totals(g.e, &totals);
	if (ok && mode != ENGINE_LINES) /* 8 blocks of 4 instructions, counted 5, 6, 7, ... times */
		assert_int_equal(totals.instructions, 4 * (5 + 6 + 7 + 8 + 9 + 10 + 11 + 12));
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
