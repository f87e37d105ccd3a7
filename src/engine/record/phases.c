/* SPDX-License-Identifier: MIT */
/*
 * Which blocks run in each interval of a fixed number of instructions, for --observe phases.
 *
 * Blocks have counters as with counts alone, and subtract their instructions from T_LEFT. The thread that ends an
 * interval compares the counters of all threads with what was reported before, and reports the differences. The
 * recorder itself adds what follows the last interval, from the counters that a process leaves.
 *
 * With several threads the others run on meanwhile: each execution belongs to this interval or to the next one, never
 * to none. Counters only grow, so executions missing from a sum are reported later; `told` is the sum of everything
 * reported, minus the counts of threads that have ended.
 */
#include <linux/mman.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/left.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/record/phases.h"
#include "engine/translate/block.h"
#include "engine/shared.h"
#include "engine/os/sys.h"

static int phases_lock;
static uint64_t *told, *told_pairs;
static struct {
	/* in instructions; `total` is the sum of what threads have reported */
	uint64_t interval, next, total;
	uint32_t taken;
} now;
static struct exact_executed entry[EXACT_VECTOR_MAX];
static unsigned nentry;

static void begin(struct thread *t)
{
	now.interval = now.next = log_lines()->interval;
	now.total = now.taken = 0;
	left_clear(t);
	left_divide(t, now.next, 0, 0);
}

void phases_init(struct thread *t)
{
	if (!log_lines()->interval || log_lines()->snapshots < 2)
		die("the recorder asks for intervals that cannot be");
	told = reserve(8ul * EXACT_BLOCKS_MAX);
	told_pairs = reserve(8ul * EXACT_PAIRS_MAX);
	begin(t);
}

void phases_thread(struct thread *t)
{
	left_clear(t);
}

void phases_restart(void)
{
	sys(__NR_madvise, told, 8ul * EXACT_BLOCKS_MAX, MADV_DONTNEED);
	sys(__NR_madvise, told_pairs, 8ul * EXACT_PAIRS_MAX, MADV_DONTNEED);
}

void phases_after_fork(struct thread *t)
{
	phases_lock = 0;
	phases_restart();
	begin(t);
}

void phases_hold(void)
{
	if (phases_on())
		lock(&phases_lock);
}

void phases_release(void)
{
	if (phases_on())
		unlock(&phases_lock);
}

static void tell(bool pairs)
{
	if (nentry)
		log_vector(entry, nentry, pairs);
	nentry = 0;
}

/* Returns the part of a sum that `told` does not contain yet. */
static void put(uint32_t number, uint64_t sum, uint64_t *before, bool pairs)
{
	int64_t more = (int64_t)(sum - *before);

	if (more <= 0)
		return;
	*before = sum;
	for (; more > 0; more -= UINT32_MAX) {
		entry[nentry++] =
			(struct exact_executed){ number,
						 more < UINT32_MAX ? (uint32_t)more : UINT32_MAX };
		if (nentry == EXACT_VECTOR_MAX)
			tell(pairs);
	}
}

static bool counts(const struct thread *t)
{
	return !t->ended && !t->told;
}

/* Sums the counters of one thread: mostly there is only one, and there may be 100,000 blocks. */
static void put_blocks_of(struct thread *t, uint32_t n)
{
	const uint64_t *c = counter_of(t, 0);

	for (uint32_t i = 0; i < n; i++)
		if (c[2 * i] != told[i])
			put(i, __atomic_load_n(&c[2 * i], __ATOMIC_RELAXED), &told[i], false);
}

static void put_blocks_of_all(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (struct thread *t = threads; t; t = t->next)
			if (counts(t))
				sum += __atomic_load_n(counter_of(t, 2 * i), __ATOMIC_RELAXED);
		if (sum != told[i])
			put(i, sum, &told[i], false);
	}
}

static void put_blocks(void)
{
	uint32_t n = __atomic_load_n(&nids, __ATOMIC_ACQUIRE);

	if (!threads->next && counts(threads))
		put_blocks_of(threads, n);
	else
		put_blocks_of_all(n);
	tell(false);
}

static void put_pair(const struct pair *p)
{
	uint64_t sum = 0;

	for (struct thread *t = threads; t; t = t->next)
		if (counts(t))
			sum += edges_counted(t, p);
	put((uint32_t)p->number - 1, sum, &told_pairs[p->number - 1], true);
}

static void snapshot(void)
{
	lock(&threads_lock);
	lock(&cache_lock); /* no thread's counters are unmapped while the lock is held */
	put_blocks();
	edges_each(put_pair);
	tell(true);
	unlock(&cache_lock);
	unlock(&threads_lock);
	log_interval();
	/* the recorder has merged intervals in pairs */
	if (++now.taken >= log_lines()->snapshots) {
		now.taken /= 2;
		now.interval *= 2;
	}
}

void phases_interval(struct thread *t, unsigned weight, unsigned part)
{
	uint64_t end;

	lock(&phases_lock);
	now.total += left_settle(t);
	end = now.total + left_slack(now.interval, weight);
	if (now.next < end && log_fd >= 0) {
		snapshot();
		while (now.next < end)
			now.next += now.interval;
	}
	left_divide(t, left_share(now.next > now.total ? now.next - now.total : 0, weight), weight,
		    part);
	unlock(&phases_lock);
}

static struct thread *ending;

static void forget_pair(const struct pair *p)
{
	told_pairs[p->number - 1] -= edges_counted(ending, p);
}

/* Called when the thread's counters go: the recorder reports what was counted since the last
 * interval. */
void phases_thread_end(struct thread *t)
{
	uint32_t n = __atomic_load_n(&nids, __ATOMIC_ACQUIRE);

	lock(&phases_lock);
	now.total += left_settle(t);
	lock(&cache_lock);
	for (uint32_t i = 0; i < n; i++)
		told[i] -= *counter_of(t, 2 * i);
	ending = t;
	edges_each(forget_pair);
	t->told = true;
	unlock(&cache_lock);
	unlock(&phases_lock);
}
