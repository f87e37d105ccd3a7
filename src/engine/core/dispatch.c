/* SPDX-License-Identifier: MIT */
/* Runs between blocks: finds or translates the next block, links blocks, and executes what translated code cannot. */
#include <asm/errno.h>
#include <linux/mman.h>
#include <asm/signal.h>
#include <asm/siginfo.h>

#include "engine/core/once.h"
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/rseq.h"
#include "engine/os/signals.h"
#include "engine/os/syscalls.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/os/sys.h"
#include "engine/shared.h"

_Static_assert(offsetof(struct thread, exit_link) == T_EXIT_LINK, "layout");
_Static_assert(offsetof(struct thread, engine_sp) == T_ENGINE_SP, "layout");
_Static_assert(offsetof(struct thread, target) == T_TARGET, "layout");
_Static_assert(offsetof(struct thread, pending) == T_PENDING, "layout");
_Static_assert(offsetof(struct thread, pc) == T_PC, "layout");
_Static_assert(offsetof(struct thread, flags) == T_FLAGS, "layout");
_Static_assert(offsetof(struct thread, gs_base) == T_GS_BASE, "layout");
_Static_assert(offsetof(struct thread, flags_spill) == T_FLAGS_SPILL, "layout");
_Static_assert(offsetof(struct thread, left) == T_LEFT, "layout");
_Static_assert(offsetof(struct thread, rest) == T_REST, "layout");
_Static_assert(offsetof(struct thread, fs_base) == T_FS_BASE, "layout");
_Static_assert(offsetof(struct thread, plane) == T_PLANE, "layout");
_Static_assert(offsetof(struct thread, later) == T_LATER, "layout");
_Static_assert(offsetof(struct thread, regs) == T_REGS, "layout");
_Static_assert(offsetof(struct thread, spill) == T_SPILL, "layout");
_Static_assert(offsetof(struct exact_stream, at) == 0, "layout");
_Static_assert(sizeof(struct thread) < 0x4000, "the stack follows");

struct thread *threads;
int threads_lock;

static struct thread *reuse(void)
{
	for (struct thread **p = &threads; *p; p = &(*p)->next) {
		struct thread *t = *p;

		if (t->ended && sys(__NR_tkill, t->tid, 0) == -ESRCH) {
			uint32_t once = t->once;

			*p = t->next;
			memset(t, 0, sizeof(*t));
			t->once = once;
			return t;
		}
	}
	return NULL;
}

struct thread *thread_new(void)
{
	struct thread *t;

	lock(&threads_lock);
	t = reuse();
	if (!t)
		t = reserve(T_SIZE);
	t->self = t;
	rseq_thread(t);
	t->next = threads;
	__atomic_store_n(&threads, t, __ATOMIC_RELEASE);
	unlock(&threads_lock);
	return t;
}

void threads_forget_others(struct thread *t)
{
	for (struct thread *o = threads, *next; o; o = next) {
		next = o->next;
		if (o != t)
			sys(__NR_munmap, o, T_SIZE);
	}
	t->next = NULL;
	threads = t;
}

void thread_end(struct thread *t)
{
	lock(&cache_lock); /* other threads read the counters of threads that have not ended */
	t->ended = true;
	unlock(&cache_lock);
	log_thread_end(t);
}

#define CODE_64 0x33 /* the segment selectors that the kernel gives to 64-bit programs */
#define STACK_64 0x2b
#define FLAGS_IRET \
	0x240dd5ul /* flags that iret changes: ID AC OF DF SF ZF AF PF CF; TF is left alone */

/* Does a far return, or iret, within 64-bit code; the words on the stack say where to. */
static bool far_return(struct thread *t, const uint8_t *op)
{
	uint64_t w[5], sp = t->regs[RSP];
	bool iret = *op == 0xcf;

	if (!rt_copy(w, (const void *)sp, iret ? sizeof(w) : 16)) {
		signals_raise(t, SIGSEGV, SEGV_MAPERR, sp);
		return true;
	}
	if ((uint16_t)w[1] != CODE_64 || (iret && (uint16_t)w[4] != STACK_64))
		return false;
	t->pc = w[0];
	if (iret)
		t->flags = (t->flags & ~FLAGS_IRET) | (w[2] & FLAGS_IRET);
	t->regs[RSP] = iret ? w[3] : sp + 16 + (*op == 0xca ? op[1] | (unsigned)op[2] << 8 : 0);
	return true;
}

/* A null selector in gs makes the base 0 for the program. The CPU's gs stays the engine's. */
static bool set_gs_selector(struct thread *t, uint64_t selector)
{
	if ((uint16_t)selector > 3)
		return false;
	t->gs_base = 0;
	return true;
}

/* Instructions that compilers do not emit: far transfers, 32-bit system calls, changes of gs, string instructions
 * with gs. */
static void odd(struct thread *t)
{
	uint8_t c[16];
	unsigned i = 0, reg, wide = 0;

	if (!rt_copy(c, (const void *)t->pc, sizeof(c)))
		memset(c, 0, sizeof(c));
	while (c[i] == 0xf3 || c[i] == 0x66)
		i++;
	if ((c[i] & 0xf0) == 0x40) {
		wide = c[i] & 8;
		reg = (c[i] & 1) << 3;
		i++;
	} else {
		reg = 0;
	}
	if (c[i] == 0x0f && c[i + 1] == 0xae && c[i + 2] >= 0xc0) { /* rdgsbase, wrgsbase */
		uint64_t *r = &t->regs[reg | (c[i + 2] & 7)];

		switch (c[i + 2] >> 3 & 7) {
		case 1:
			*r = wide ? t->gs_base : (uint32_t)t->gs_base;
			break;
		case 3:
			t->gs_base = wide ? *r : (uint32_t)*r;
			break;
		default:
			die("instruction not supported at %lx", t->pc);
		}
		t->pc += i + 3;
		return;
	}
	if (wide && (c[i] == 0xca || c[i] == 0xcb || c[i] == 0xcf) && far_return(t, c + i))
		return;
	if (c[i] == 0x8e && c[i + 1] >= 0xc0 && /* mov gs, register */
	    set_gs_selector(t, t->regs[reg | (c[i + 1] & 7)])) {
		t->pc += i + 2;
		return;
	}
	if (c[i] == 0x0f && c[i + 1] == 0xa9) { /* pop gs */
		uint64_t v;

		if (!rt_copy(&v, (const void *)t->regs[RSP], sizeof(v))) {
			signals_raise(t, SIGSEGV, SEGV_MAPERR, t->regs[RSP]);
			return;
		}
		if (set_gs_selector(t, v)) {
			t->regs[RSP] += c[0] == 0x66 ? 2 : 8;
			t->pc += i + 2;
			return;
		}
	}
	if (c[i] == 0xc7 && c[i + 1] == 0xf8) { /* xbegin: always aborts */
		t->regs[RAX] = 0;
		t->pc += i + 6 + (uint64_t)(int64_t) * (int32_t *)(c + i + 2);
		return;
	}
	die("not supported under exact recording: instruction %lx %lx %lx at %lx (a far transfer, "
	    "a 32-bit system call, or another segment in gs)",
	    (uint64_t)c[0], (uint64_t)c[1], (uint64_t)c[2], t->pc);
}

/* Notes for the recorder that the thread is in the system call that ends a block (the block's number + 1), or in none
 * (0). */
static void set_inside(struct thread *t, uint32_t block)
{
	if (log_fd >= 0 && log_observed & EXACT_COUNTS)
		*counter_of(t, EXACT_INSIDE) = counting() ? block : 0;
}

/* Executes the system call that ends the block. Meanwhile the thread counts as outside the cache, because the call may
 * never return. Returns false, with cache_lock held, if the call has been counted but is still to be executed. */
static bool outside(struct thread *t, uint32_t block)
{
	bool returns = t->regs[RAX] == __NR_rt_sigreturn, done;
	uint32_t before = flushes, turns = switches;

	set_inside(t, block + 1);
	__atomic_store_n(&t->inside, false, __ATOMIC_RELEASE);
	done = do_syscall(t);
	lock(&cache_lock); /* without the lock another thread could empty the cache now */
	if (flushes != before ||
	    switches !=
		    turns) /* the recorder knows a new process by now: the thread registers itself there */
		edges_note_locked(EXACT_WENT, 0, 0, t->pc);
	else if (returns)
		edges_note_locked(EXACT_WENT, block + 1, 0, t->pc);
	set_inside(t, 0);
	if (done)
		unlock(&cache_lock);
	return done;
}

static void in_odd(struct thread *t, uint32_t block, uint64_t next)
{
	odd(t);
	if (t->pc != next)
		edges_note(EXACT_WENT, block + 1, 0, t->pc);
}

/* Handles the end of a block of an instruction that is translated anew for each execution (once.c). */
static void leave_once(struct thread *t, const struct link *l)
{
	const struct block *b = &blocks[l->from];
	uint32_t before = flushes, id = once_number(t) - 1;
	bool counted = !skipping();

	t->pc = l->target;
	once_count(t, l->edge);
	if (l->kind == LINK_ODD)
		in_odd(t, id, b->pc + b->len);
	else if (l->kind == LINK_LATER)
		lines_later(t, NO_BLOCK);
	else if (l->kind == LINK_SYSCALL && !outside(t, id)) {
		if (!counted)
			;
		else if (flushes == before)
			once_uncount(t);
		else
			t->uncount = true;
		if (schedule_on)
			t->left[0]++;
		unlock(&cache_lock);
	}
}

/* Subtracts an execution's weight from the rest of the interval, for code that does not subtract by itself. */
static void take_weight(struct thread *t, unsigned weight)
{
	if (!intervals_on() || schedule_on)
		return;
	t->left[0] -= weight;
	if (t->left[0] < 0)
		interval_over(t, weight, 0);
}

static void leave_block(struct thread *t, const struct link *l)
{
	uint32_t before = flushes, id = blocks[l->from].id, n = blocks[l->from].n;
	uint64_t next = blocks[l->from].pc + blocks[l->from].len;
	unsigned part = left_part(l->from);
	bool counted = counting();

	t->pc = l->target;
	t->rest[0] += l->owed;
	if (l->edge && counting())
		++*counter_of(t, edge_counter(l));
	if (l->kind == LINK_ODD) {
		in_odd(t, id, next);
	} else if (l->kind == LINK_LATER) {
		lines_later(t, id);
	} else if (l->kind == LINK_SYSCALL && !outside(t, id)) {
		if (flushes != before)
			t->uncount = !skipping();
		else if (counted)
			log_cut(id, n - 1, true);
		if (schedule_on || (intervals_on() && lines.unit != EXACT_ACCESSES))
			t->left[part]++;
		unlock(&cache_lock);
	}
}

/* Takes back the count of the system call at pc: it was counted before the cache was emptied, and will be executed
 * and counted again. */
static void uncount(struct thread *t)
{
	struct block *b;

	t->uncount = false;
	lock(&cache_lock);
	b = cache_find(t->pc);
	if (!b && !publish_full() && region_of(t->pc))
		b = translate(t, t->pc, NULL);
	if (b && b->flags & BLOCK_ONCE)
		once_uncount(t);
	else if (b && counting())
		log_cut(b->id, 0, true);
	unlock(&cache_lock);
}

/* Translates the last block before the next phase of the schedule, cut to the instructions that are left. */
static struct block *made_short(struct thread *t)
{
	struct block *b = translate_short(t, t->pc, t->shorten);

	t->shorten = 0;
	t->cut = true;
	if (b && !(b->flags & BLOCK_ONCE)) {
		t->left[left_part((uint32_t)(b - blocks))] += b->weight;
		t->granted[left_part((uint32_t)(b - blocks))] += b->weight;
	} else if (b) {
		t->left[0]++;
		t->granted[0]++;
	}
	return b;
}

/* A number that changes whenever links become invalid or lead to blocks of the other kind. */
static uint32_t times_changed(void)
{
	return flushes + switches;
}

/* Finds or translates the block at t->pc and enters it. Returns NULL if there is none now. `from`, if not NULL, is the
 * link that leads there, and `site`, if not 0, the indirect jump; both are valid only while times_changed() is still
 * `of`. */
static struct block *next_block(struct thread *t, struct link *from, uint32_t of, uint32_t site)
{
	struct block *b;

	lock(&cache_lock);
	if (of != times_changed() || t->shorten) {
		from = NULL;
		site = 0;
	}
	b = t->shorten ? NULL : cache_find(t->pc);
	if (flush_due(!b)) {
		unlock(&cache_lock);
		flush_cache(t);
		return NULL;
	}
	if (!b && t->shorten)
		b = made_short(t);
	else if (!b && t->midway)
		b = translate_midway(t, t->pc);
	else if (!b)
		b = translate(t, t->pc, from);
	if (b && from && from->target == b->pc)
		cache_link(from, b);
	else if (b && from && from->edge && counting())
		--*counter_of(
			t,
			edge_counter(
				from)); /* the edge's counter is inverted: it counts how often the branch fell through */
	if (b && site && !(b->flags & BLOCK_ONCE)) {
		if (counting())
			edges_near(t, edges_pair(site, b->pc), b);
		else
			cache_direct(b);
	}
	t->inside = b;
	unlock(&cache_lock);
	return b;
}

/* Handles an indirect jump, call or return that has left the cache for t->pc. The block may be one of once.c. Returns
 * the jump's site; without counts jumps have no sites, and the result is 1. */
static uint32_t leave_indirect(struct thread *t, const struct block *b)
{
	uint32_t site = (uint32_t)t->site;

	cache_expect(t->pc);
	if (!counting())
		return 1;
	lock(&cache_lock);
	if (b->flags & BLOCK_ONCE)
		site = once_site(t);
	if (site)
		edges_count(t, edges_pair(site, t->pc));
	unlock(&cache_lock);
	return site;
}

/* Enters the block `b` again, behind its subtraction, which exhausted what was granted. Returns false if that is not where
 * the program goes on, or if links and blocks have changed since `of`. */
static bool enter_again(struct thread *t, const struct block *b, uint64_t pc, uint32_t of)
{
	lock(&cache_lock);
	t->target = t->pc == pc && of == times_changed() && !t->shorten ? left_again(t, b) : 0;
	t->inside = t->target;
	unlock(&cache_lock);
	return t->target;
}

/* Handles the reason for which the thread left the cache. Returns the link that leads on from there, or NULL. *site
 * becomes the site of the indirect jump, or 0; *again the block in whose middle the thread may go on, or NULL. */
static struct link *leave(struct thread *t, const struct block *b, uint32_t *site,
			  const struct block **again)
{
	struct link *l;
	unsigned weight, part;
	bool once;

	*site = 0;
	*again = NULL;
	if (t->exit_link <= EXIT_BEFORE) {
		b = &blocks[EXIT_BEFORE - t->exit_link];
		t->rest[0] += owed_at(b);
		t->pc = b->pc;
		t->midway = true;
		schedule_ask(t, 1, 0);
		return NULL;
	}
	if (t->exit_link <= EXIT_INTERVAL) {
		b = &blocks[EXIT_INTERVAL - t->exit_link];
		t->midway = schedule_on;
		weight = left_exhausted(t, b);
		part = (uint32_t)(b - blocks);
		part = b->flags & BLOCK_COARSE ? rest_part(part) : left_part(part);
		*again = b->flags & BLOCK_COARSE ? b : NULL;
		interval_over(t, weight, part);
		return NULL;
	}
	if (t->exit_link == EXIT_SIGNAL)
		left_not_entered(t);
	if (t->exit_link == EXIT_INDIRECT) {
		*site = leave_indirect(t, b);
		if (b->flags & BLOCK_ONCE)
			take_weight(t, b->weight);
	}
	if (t->exit_link == EXIT_INDIRECT || t->exit_link == EXIT_SIGNAL)
		return NULL;
	l = &links[t->exit_link];
	once = blocks[l->from].flags & BLOCK_ONCE;
	if (l->kind == LINK_JUMP && !once) {
		leave_block(t, l);
		return l;
	}
	if (!once) {
		leave_block(t, l);
		return NULL;
	}
	weight = blocks[l->from].weight;
	leave_once(t, l);
	take_weight(t, weight);
	return NULL;
}

static bool vsyscall(struct thread *t)
{
	bool there;

	lock(&cache_lock);
	there = region_of(t->pc);
	unlock(&cache_lock);
	if (!there || !do_vsyscall(t))
		return false;
	edges_note(EXACT_WENT, 0, 0, t->pc);
	return true;
}

/* Prepares to enter a block that has been found. Returns false if the schedule had to be asked first. */
static bool enter(struct thread *t, const struct block *b)
{
	bool taken = !(b->flags & BLOCK_ONCE) || !schedule_on || schedule_take_one(t);

	if (taken && left_enter(t, b)) {
		t->target = b->code;
		return true;
	}
	if (taken)
		schedule_ask(t, 1, 0);
	__atomic_store_n(&t->inside, false, __ATOMIC_RELEASE);
	return false;
}

void dispatch(void *thread)
{
	struct thread *t = thread;
	struct link *from = NULL;
	uint32_t before = 0; /* changes before the look-up of `from` are not to be counted */
	uint32_t site = 0;
	const struct block *again = NULL; /* a block that the thread has left where it subtracts */
	uint64_t pc = 0;		  /* the address where it did */

	for (;;) {
		const struct block *b;

		if (t->uncount)
			uncount(t);
		if (rseq_check(t)) {
			from = NULL;
			site = 0;
		}
		if (t->pending) {
			signals_deliver(t);
			from = NULL;
			site = 0;
		}
		if (t->pc >= VSYSCALL && vsyscall(t))
			continue;
		flush_expect_signal(t);
		flush_wait();
		b = again && enter_again(t, again, pc, before) ? again : NULL;
		again = NULL;
		if (!b) {
			b = next_block(t, from, before, site);
			from = NULL;
			site = 0;
			if (!b || !enter(t, b))
				continue;
		}
		t->midway = t->cut;
		t->cut = false;
		before = times_changed();
		rt_enter(t);
		t->flags &= ~0x100ul;
		from = leave(t, b, &site, &again);
		pc = t->pc;
		__atomic_store_n(&t->inside, false, __ATOMIC_RELEASE);
	}
}
