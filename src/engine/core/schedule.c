/* SPDX-License-Identifier: MIT */
/*
 * Which parts of the run are observed. Every block subtracts its instructions from the number left
 * until the next phase begins (left.c), and leaves the cache at once if too little is left. With
 * one thread, the block is then translated once more, cut to the number left, so that the phase
 * begins after exactly that many instructions.
 *
 * Several threads share the number left; each is granted a part of what the others do not have.
 * When too little remains that no thread holds, all threads leave the cache and return the unused
 * rest of their grants. The phase is the process's: the thread that finds it over calls the others
 * out of the cache, adds up what all have executed, and changes the phase for all. The new phase
 * then begins late by the instructions that others had executed of their grants: at most SHARE_MIN
 * instructions each.
 */
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/record/warm.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

#define SHARE_MIN 1000
#define COARSE_MIN 2048	      /* least part of a skipped stretch that is worth code of its own */
#define ROOM_MAX (1ull << 31) /* most instructions that are granted to a thread at once */
/* The longest part of the run between two reads by the recorder, as a share of the instructions executed so far: so a
 * short run is read several times, too, and reading, which takes time for all code, stays a small part of a long one. */
#define CLOSE_PART 16

bool schedule_on;
uint32_t switches;

static const uint64_t *starts;
static struct exact_schedule plan;
static int schedule_lock;
static struct {
	uint64_t position; /* instructions executed, as far as threads have reported them */
	uint64_t until;	   /* position at which the phase ends */
	uint64_t length;   /* length of the phase */
	unsigned phase;	   /* enum exact_phase */
	bool coarse; /* Blocks that subtract rarely are in use; `until` lies before the phase's end. */
	uint64_t sample, begin;
	uint64_t closed; /* the position at which the engine last waited for the recorder */
	bool main,
		any; /* main: this is the command's first process; any: something has been observed since `closed` */
} now;

static uint64_t start_of(uint64_t sample)
{
	if (plan.kind == EXACT_PERIODIC)
		return plan.first + sample * plan.period;
	return sample < plan.n ? starts[sample] : UINT64_MAX;
}

/* The number of the first sample that ends after the position. */
static uint64_t sample_at(uint64_t position)
{
	uint64_t low = 0, high = plan.n;

	if (plan.kind == EXACT_PERIODIC)
		return position < plan.first + plan.size
			       ? 0
			       : (position - plan.first - plan.size) / plan.period + 1;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (starts[mid] + plan.size <= position)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Chooses where touched lines are reported next, in a skipped stretch that ends at `end`: at 4^k
 * samples before its end, so that the recorder knows in which of these stretches each line was
 * touched last.
 */
static uint64_t tell_at(uint64_t end)
{
	uint64_t before = plan.size;

	if (end - now.position <= before)
		return end;
	while (before <= (end - now.position - 1) / 4)
		before *= 4;
	return end - before;
}

/* Finds the phase at the current position and where the phase ends. */
static void find_phase(void)
{
	uint64_t start, warm;

	now.phase = EXACT_SKIP;
	now.until = UINT64_MAX;
	now.coarse = !warming;
	if (plan.kind == EXACT_LISTED && !now.main)
		return;
	now.sample = sample_at(now.position);
	start = start_of(now.sample);
	if (start == UINT64_MAX)
		return;
	warm = start > plan.warmup ? start - plan.warmup : 0;
	warm = plan.warmup ? warm : start;
	if (now.position >= start) {
		now.phase = EXACT_SAMPLE;
		now.until = start + plan.size;
		now.begin = now.position;
		now.coarse = false;
	} else if (now.position >= warm && plan.warmup) {
		now.phase = EXACT_WARMUP;
		now.until = start;
		now.coarse = false;
	} else {
		now.until = warming ? tell_at(warm) : warm;
		now.coarse &= warm - now.position > COARSE_MIN;
		if (now.coarse)
			now.until -= LATE_MAX;
	}
}

static void locate(void)
{
	find_phase();
	now.length = now.until - now.position;
}

static enum cache_kind kind_now(void)
{
	if (now.phase != EXACT_SKIP)
		return CACHE_OBSERVES;
	return now.coarse ? CACHE_COARSE : CACHE_SKIPS;
}

static uint64_t mode_of(enum cache_kind kind)
{
	if (kind == CACHE_OBSERVES)
		return log_observed;
	return MODE_SKIPPING | (kind == CACHE_COARSE ? MODE_COARSE : 0) |
	       (warming ? EXACT_LINES : 0);
}

/* From here on, blocks are made for this phase and found in its tables. With cache_lock held, and no other thread in
 * the cache. */
static void set_mode(void)
{
	enum cache_kind kind = kind_now();
	bool observed = !skipping();

	log_position(now.position, now.phase, now.length, now.main);
	if (mode_of(kind) == log_mode)
		return;
	log_mode = mode_of(kind);
	cache_turn(kind);
	switches++;
	for (struct thread *t = threads; observed && t; t = t->next)
		if (!t->ended && t->mapped)
			*counter_of(t, EXACT_INSIDE) = 0;
}

void schedule_init(struct thread *t)
{
	plan = *log_schedule();
	if (plan.kind == EXACT_WHOLE)
		return;
	if (!plan.size || (plan.kind == EXACT_PERIODIC && plan.period < plan.size) ||
	    plan.kind > EXACT_LISTED || (plan.kind == EXACT_LISTED && plan.n > EXACT_SAMPLES_MAX))
		die("the recorder asks for a schedule that cannot be");
	if (plan.kind == EXACT_LISTED && plan.n)
		starts = log_piece(plan.list, plan.n * sizeof(*starts));
	schedule_on = true;
	left_whole = !plan.warming;
	if (plan.warming)
		warm_init(t);
	now.position = now.closed = log_began;
	now.main = log_main;
	locate();
	log_mode = mode_of(kind_now());
	cache_begin(kind_now());
	log_position(now.position, now.phase, now.length, now.main);
}

static unsigned threads_alive(void)
{
	unsigned n = 0;

	for (const struct thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next)
		n += !t->ended;
	return n ? n : 1;
}

static void settle(struct thread *t)
{
	now.position += left_settle(t);
}

/* Instructions that other threads were granted and have not executed yet. */
static uint64_t granted_to_others(const struct thread *self)
{
	uint64_t sum = 0;

	for (const struct thread *t = threads; t; t = t->next)
		for (unsigned i = 0; i < LEFT_PARTS && t != self && !t->ended; i++)
			sum += (uint64_t)t->granted[i];
	return sum;
}

/* Grants instructions to one of n threads; `others` instructions are granted to the other threads already. */
static void grant(struct thread *t, unsigned weight, unsigned part, unsigned n, uint64_t others)
{
	uint64_t room = now.until - now.position;

	room = room > others ? room - others : 0;
	if (n > 1)
		room = room / (2 * n) > SHARE_MIN ? room / (2 * n) : SHARE_MIN;
	if (room < weight)
		room = weight;
	if (room > ROOM_MAX)
		room = ROOM_MAX;
	if (left_whole && !now.coarse)
		left_grant(t, room);
	else
		left_divide(t, room, weight, part);
	if (now.coarse)
		left_to_rest(t);
}

/* Waits until the recorder has read what was observed. */
static void close_sample(void)
{
	log_position(now.position, now.phase, now.length, now.main);
	log_ask();
	now.closed = now.position;
	now.any = false;
}

static bool close_due(void)
{
	return plan.each || now.position - now.closed >= now.position / CLOSE_PART;
}

static void end_sample(bool cut)
{
	uint64_t next = start_of(now.sample + 1);
	struct exact_sampled s = { .number = now.sample,
				   .begin = now.begin,
				   .end = now.position,
				   .cut = cut,
				   .gap = cut || next > now.position };

	log_sampled(&s);
	now.any = true;
}

static void next_phase(void)
{
	if (now.phase == EXACT_SKIP && warming)
		warm_tell();
	if (now.phase == EXACT_WARMUP)
		close_sample();
	if (now.phase == EXACT_SAMPLE) {
		end_sample(false);
		if (close_due())
			close_sample();
	}
	locate();
}

/* Whether the phase is over. A coarse phase is over once little is left, which would have to be divided again and
 * again. */
static bool phase_over(void)
{
	return now.position + (now.coarse ? COARSE_MIN / 4 : 0) >= now.until;
}

/* Begins the next phase. All other threads are outside the cache. */
static void turn(struct thread *self)
{
	(void)self;
	lock(&schedule_lock);
	for (struct thread *t = threads; t; t = t->next)
		if (!t->ended)
			settle(t);
	while (phase_over())
		next_phase();
	set_mode();
	unlock(&schedule_lock);
}

/* Takes back the unused grants of all threads, so that the position is exact. All other threads are outside the cache. */
static void gather(struct thread *self)
{
	(void)self;
	lock(&schedule_lock);
	for (struct thread *t = threads; t; t = t->next)
		if (!t->ended)
			settle(t);
	unlock(&schedule_lock);
}

void schedule_ask(struct thread *t, unsigned weight, unsigned part)
{
	unsigned n = threads_alive();
	uint64_t others, room = 0;
	bool over, scarce = false;

	lock(&schedule_lock);
	settle(t);
	over = phase_over();
	others = n > 1 ? granted_to_others(t) : 0;
	if (!over) {
		room = now.until - now.position;
		/* other threads hold the rest, and may be blocked forever: it is taken back from
		 * them */
		scarce = others > n * SHARE_MIN && room < others + SHARE_MIN;
	}
	if (!over && n == 1 && room < weight) {
		t->shorten = (uint32_t)room;
		/* made_short() grants the rest once it knows which part the block subtracts from */
	} else if (!over && !scarce) {
		grant(t, weight, part, n, others);
	}
	unlock(&schedule_lock);
	if (!over && !scarce)
		return;
	__atomic_store_n(
		&t->inside, false,
		__ATOMIC_RELEASE); /* another thread may be waiting until this one is outside */
	flush_outside(t, over ? turn : gather);
}

bool schedule_take_one(struct thread *t)
{
	if (t->left[0] - t->rest[0] < 1) {
		uint32_t before = switches;

		schedule_ask(t, 1, 0);
		if (before != switches || t->left[0] - t->rest[0] < 1)
			return false;
	}
	if (now.coarse)
		t->rest[0]++;
	else
		t->left[0]--;
	return true;
}

void schedule_thread_end(struct thread *t)
{
	if (!schedule_on)
		return;
	lock(&schedule_lock);
	settle(t);
	unlock(&schedule_lock);
}

uint64_t schedule_position(struct thread *t)
{
	uint64_t position;

	if (!schedule_on)
		return 0;
	lock(&schedule_lock);
	settle(t);
	position = now.position;
	unlock(&schedule_lock);
	return position;
}

void schedule_end(struct thread *t)
{
	if (!schedule_on || log_fd < 0 || !log_is_ours())
		return;
	lock(&schedule_lock);
	for (struct thread *o = threads; o; o = o->next)
		if (!o->ended)
			settle(o);
	(void)t;
	if (now.phase == EXACT_SAMPLE && now.position > now.begin) {
		end_sample(now.position < now.until);
		now.begin = now.position;
	}
	log_position(now.position, now.phase, now.length, now.main);
	unlock(&schedule_lock);
}

void schedule_after_fork(struct thread *t)
{
	if (!schedule_on)
		return;
	schedule_lock = 0;
	settle(t);
	now.closed = now.position;
	now.main = now.any = false;
	if (warming)
		warm_after_fork(t);
	locate();
	set_mode();
	log_position(now.position, now.phase, now.length, now.main);
}

void schedule_restart(void)
{
	if (schedule_on)
		log_position(now.position, now.phase, now.length, now.main);
}
