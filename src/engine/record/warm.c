/* SPDX-License-Identifier: MIT */
/*
 * What is touched where the schedule skips, so that simulated caches can be kept warm: code that skips marks the lines
 * of data that it touches (marks.c), and which of its blocks ran. When a warm-up or a sample begins, and at some places
 * before (schedule.c), the lines, including those of code, are reported to the recorder.
 */
#include <linux/mman.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/layout.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/warm.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

bool warming;

static uint8_t *ran_of(struct thread *t)
{
	return (uint8_t *)t + T_RAN;
}

/* A thread's marks of blocks are at the address where its stream would otherwise be. */
static void map_ran(struct thread *t)
{
	long p = sys(__NR_mmap, ran_of(t), T_RAN_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_failed(p))
		die("no memory to mark code in: errno %ld", -p);
}

void warm_thread(struct thread *t)
{
	map_ran(t);
	marks_thread(t);
}

void warm_init(struct thread *t)
{
	lines = *log_lines();
	lines.unit = EXACT_INSTRUCTIONS;
	lines.flags = 0;
	marks_init(NULL); /* all code would have to be translated again for a second thread */
	warming = true;
	marks_begin();
	warm_thread(t);
}

void warm_after_fork(struct thread *t)
{
	marks_clear();
	marks_begin();
	warm_thread(t);
}

void warm_restart(void)
{
	for (struct thread *t = threads; t; t = t->next)
		if (!t->ended)
			map_ran(t);
}

/* Marks the code of blocks that the thread has executed as touched. */
static void mark_code(struct thread *t)
{
	uint64_t *ran = (uint64_t *)ran_of(t);

	for (uint32_t i = 0; i < nblocks; i += 8) {
		uint64_t v = ran[i / 8];

		if (!v)
			continue;
		ran[i / 8] = 0;
		for (unsigned k = 0; v; k++, v >>= 8)
			if (v & 0xff)
				marks_set(t, blocks[i + k].pc, blocks[i + k].len);
	}
}

void warm_tell(void)
{
	if (log_fd < 0)
		return;
	for (struct thread *t = threads; t; t = t->next)
		if (!t->ended &&
		    /* a thread that has only been created has no marks, and has not run */
		    t->plane)
			mark_code(t);
	marks_tell();
}
