/* SPDX-License-Identifier: MIT */
/*
 * Arrival of signals: the engine's handler, which the kernel runs. It notes a signal of the program and lets the thread
 * leave the cache, at once or by single steps. It also handles the faults and signals that are the engine's own.
 */
#include <asm/errno.h>
#include <asm/siginfo.h>
#include <asm/signal.h>

#include "engine/core/cache.h"
#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/rseq.h"
#include "engine/os/signals_priv.h"
#include "engine/os/sys.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/shared.h"
#include "engine/translate/block.h"
#include "engine/translate/mark.h"

#define FAULT_WRITE 2
#define TRACE 2 /* TRAP_TRACE */

static bool in_cache(uint64_t at)
{
	return at >= CACHE_BASE && at < CACHE_BASE + CACHE_SIZE;
}

static bool between(uint64_t at, void (*from)(void), void (*to)(void))
{
	return at >= (uint64_t)from && at < (uint64_t)to;
}

static uint64_t *context_register(struct context *c, unsigned reg)
{
	uint64_t *const r[16] = { &c->rax, &c->rcx, &c->rdx, &c->rbx, &c->rsp, &c->rbp,
				  &c->rsi, &c->rdi, &c->r8,  &c->r9,  &c->r10, &c->r11,
				  &c->r12, &c->r13, &c->r14, &c->r15 };

	return r[reg];
}

/* Closes the record of an execution that ended early. */
static void cut_record(struct thread *t, uint64_t *record, const struct place *place)
{
	if (!place->done) {
		stream_of(t)->at = (uint64_t)record;
		return;
	}
	*record = EXACT_HEAD_CUT | (uint64_t)place->done << 32 |
		  (uint64_t)(place->record / 8 - 1) << EXACT_HEAD_BLOCKS |
		  EXACT_HEAD_BLOCK(*record);
	stream_of(t)->at = (uint64_t)record + place->record;
}

/* Continues in the dispatcher, as if no code had run: the program's registers are, or have just been, put aside. */
static void abort_entry(struct context *c)
{
	c->rip = (uint64_t)rt_enter_abort;
	c->flags &= ~(FLAG_TRAP | FLAG_DIRECTION | FLAG_ALIGNMENT);
}

/* Leaves the cache for the dispatcher, with the program's present state. */
static void leave(struct thread *t, struct sig_ucontext *uc, const struct place *place)
{
	const struct block *b = cache_by_code(uc->c.rip);

	signals_save_regs(t, &uc->c);
	for (unsigned i = 0; i < 16; i++)
		if (place->spilled & 1u << i)
			t->regs[i] = t->spill[i];
	t->pc = place->pc;
	if (intervals_on() || schedule_on) {
		bool once = schedule_on && b->flags & BLOCK_ONCE;

		if (b->flags & BLOCK_COARSE)
			t->rest[0] -= place->undone;
		else
			t->left[once ? 0 : left_part((uint32_t)(b - blocks))] += place->undone;
		t->owed = 0;
	}
	if (lines_on() && place->repeats)
		lines_later(t, b->flags & BLOCK_ONCE ? NO_BLOCK : b->id);
	if (counting() && (place->done || place->counted) && place->done < b->n &&
	    !(b->flags & BLOCK_ONCE))
		log_cut(b->id, place->done, place->counted);
	if (place->closed && place->done < b->n)
		cut_record(t, (uint64_t *)(stream_of(t)->at - place->closed), place);
	else if (place->done && place->base != NO_REG && place->spilled & 1u << place->base)
		cut_record(t, (uint64_t *)*context_register(&uc->c, place->base), place);
	abort_entry(&uc->c);
	t->stepping = false;
}

static bool find_place(struct thread *t, uint64_t at, struct place *place)
{
	struct block *b = at < CACHE_BASE + CACHE_CODE_SIZE ? cache_by_code(at) : NULL;

	return b && translate_place(t, b, at, place);
}

static bool is_pushf(const uint8_t *p)
{
	while (*p == 0x66 || (*p & 0xf0) == 0x40)
		p++;
	return *p == 0x9c;
}

/* Handles an asynchronous signal, already noted, that found the thread in the cache. */
static void find_way_out(struct thread *t, struct sig_ucontext *uc)
{
	struct place place;

	if (find_place(t, uc->c.rip, &place) && place.clean) {
		leave(t, uc, &place);
		return;
	}
	t->stepping = true;
	t->steps_pushf = is_pushf((const uint8_t *)uc->c.rip);
	uc->c.flags |= FLAG_TRAP;
}

/* Whether the signal came during a system call that waits with a mask of its own. That mask stays in force until the
 * handler has begun. */
static bool waits(const struct thread *t, const struct sig_ucontext *uc)
{
	return t->wait.on && uc->c.rip == (uint64_t)rt_syscall_insn + 2 &&
	       uc->c.rax == (uint64_t)-EINTR;
}

static void note(struct thread *t, const struct sig_info *info, struct sig_ucontext *uc, bool fault)
{
	t->signal.info = *info;
	t->signal.err = uc->c.err;
	t->signal.trapno = uc->c.trapno;
	t->signal.cr2 = uc->c.cr2;
	t->signal.mask = uc->mask | t->blocked;
	t->signal.during = waits(t, uc) ? t->wait.mask : t->signal.mask;
	t->signal.fault = fault;
	t->pending = 1;
	uc->mask = ~sync_signals;
}

/* Whether the address lies behind a half of the stream: that half is full. */
static bool in_guard(const struct thread *t, uint64_t addr)
{
	uint64_t at = addr - (uint64_t)t;

	return (at >= T_HALF_0 + T_HALF_SIZE && at < T_HALF_0 + T_HALF_SIZE + T_GUARD_SIZE) ||
	       (at >= T_HALF_1 + T_HALF_SIZE && at < T_HALF_1 + T_HALF_SIZE + T_GUARD_SIZE);
}

/* Returns the register that the instruction stores through, if words.c uses that register to write
 * into the stream; else NO_REG. */
static unsigned stores_by(const uint8_t *p)
{
	unsigned rm = p[2] & 7;

	if ((p[0] & 0xfa) != 0x48 || (p[1] != 0x89 && p[1] != 0xc7) || p[2] >= 0xc0 ||
	    (rm == 4 && p[3] != 0x24))
		return NO_REG;
	return rm | (p[0] & 1u) << 3;
}

/* Continues the stream in its other half. The block is not decoded anew, which would take longer
 * than everything else here. */
static bool next_half(struct thread *t, uint64_t addr, struct sig_ucontext *uc)
{
	unsigned reg = stores_by((const uint8_t *)uc->c.rip);
	const struct exact_stream *s = stream_of(t);
	uint64_t *base, limit;

	if (reg == NO_REG)
		return false;
	base = context_register(&uc->c, reg);
	limit = s->start[s->current & 1] + T_HALF_SIZE;
	if (*base < s->at || *base > limit)
		return false;
	log_next_half(t, *base, (addr < limit ? addr : limit) - *base);
	*base = s->at;
	return true;
}

static void on_fault(struct thread *t, int sig, struct sig_info *info, struct sig_ucontext *uc)
{
	uint64_t at = uc->c.rip;
	bool write = sig == SIGSEGV && uc->c.err & FAULT_WRITE;
	struct place place;

	/* the program accesses an address that is not canonical, or an unaligned one while
	 * alignment is checked */
	if (lines_on() && (sig == SIGSEGV || sig == SIGBUS) && in_cache(at) &&
	    (at >= CACHE_BASE + CACHE_CODE_SIZE || (find_place(t, at, &place) && place.ours))) {
		uc->c.rip = shadow_skip(at, sig == SIGBUS);
		if (uc->c.rip)
			return;
		uc->c.rip = at;
	}

	if (write && log_mode & EXACT_STREAM && in_guard(t, info->addr) && in_cache(at) &&
	    next_half(t, info->addr, uc))
		return;
	if (write) { /* the engine writes for the program, too: frames, return addresses */
		bool ours;

		lock(&cache_lock);
		ours = regions_write_fault(info->addr);
		unlock(&cache_lock);
		if (ours) {
			const struct block *b = in_cache(at) ? cache_by_code(at) : NULL;

			if (b && b->flags & (BLOCK_DEAD | BLOCK_ONCE) && find_place(t, at, &place))
				leave(t, uc, &place);
			return;
		}
	}
	if (between(at, rt_copy_begin, rt_copy_end)) {
		uc->c.rip = (uint64_t)rt_copy_failed;
		return;
	}
	if (!in_cache(at) ||
	    /* traps are reported after their instruction */
	    !find_place(t, sig == SIGTRAP ? at - 1 : at, &place))
		die("the engine failed: signal %ld at %lx, address %lx, program at %lx", (long)sig,
		    at, info->addr, t->pc);
	if (!t->pending && (sig != SIGSEGV || !rseq_excuses(t, place.pc, info->addr))) {
		/* otherwise the pending signal is delivered first, and the fault comes again */
		note(t, info, uc, true);
		if (sig == SIGTRAP) {
			place.pc = place.next;
			if (t->signal.info.addr == at) /* the trap of the instruction int1 */
				t->signal.info.addr = place.pc;
		}
		if (sig == SIGILL || sig == SIGFPE)
			t->signal.info.addr = place.pc;
	}
	leave(t, uc, &place);
}

/*
 * Aborts a restartable sequence, whichever signal came. The thread was in the guard of a store of
 * the sequence, or found that the sequence was interrupted: the thread stopped at `at`, an
 * instruction of the engine's.
 */
static void on_abort(struct thread *t, int sig, struct sig_info *info, struct sig_ucontext *uc,
		     uint64_t at)
{
	struct place place;
	bool fault = info->code > 0 && sync_signals & sig_bit(sig);

	uc->c.rax = t->aside[0];
	uc->c.rcx = t->aside[1];
	if (!find_place(t, uc->c.rip, &place))
		die("the engine failed: no instruction at %lx", uc->c.rip);
	if (flush_signal(t, sig, info) || (sig == SIGTRAP && t->stepping && info->code == TRACE)) {
		/* the sender only asks the thread to leave the cache */
	} else if (fault) {
		bool ours = sig == SIGILL && info->addr == at;

		if (sig == SIGSEGV && uc->c.err & FAULT_WRITE) {
			lock(&cache_lock);
			ours = regions_write_fault(info->addr);
			unlock(&cache_lock);
		}
		if (!ours && !t->pending) {
			note(t, info, uc, true);
			if (sig == SIGILL || sig == SIGFPE)
				t->signal.info.addr = place.pc;
		}
	} else if (t->pending || t->blocked & sig_bit(sig)) {
		t->held |= sig_bit(sig);
		t->held_info[sig] = *info;
	} else {
		note(t, info, uc, false);
	}
	t->interrupted = true;
	leave(t, uc, &place);
}

/* Handles SIGSYS: a filter has turned a system call into a signal. If the program made the call,
 * the signal is the program's. A call that the engine made for itself fails. */
static bool trapped(const struct thread *t, struct sig_info *info, struct sig_ucontext *uc)
{
	int call;

	memcpy(&call, info->rest, sizeof(call));
	if (t->inside || call != (int)t->regs[RAX]) {
		uc->c.rax = (uint64_t)-ENOSYS;
		return false;
	}
	info->addr = t->pc;
	return true;
}

void on_signal(int sig, struct sig_info *info, struct sig_ucontext *uc)
{
	struct thread *t = self();
	uint64_t at = uc->c.rip, guarded = in_cache(at) ? rseq_aborted(at) : 0;

	if (guarded) {
		uc->c.rip = guarded;
		on_abort(t, sig, info, uc, at);
		return;
	}
	if (sig == SIGTRAP && t->stepping && info->code == TRACE) {
		if (t->steps_pushf)
			*(uint16_t *)uc->c.rsp &= (uint16_t)~FLAG_TRAP;
		if (in_cache(at) || between(at, rt_ibl_begin, rt_ibl_end)) {
			find_way_out(t, uc);
		} else {
			t->stepping = false;
			uc->c.flags &= ~FLAG_TRAP;
		}
		return;
	}
	/* a thread that leaves the cache by itself need not be helped */
	if (flush_signal(t, sig, info)) {
		if (in_cache(at) || between(at, rt_ibl_begin, rt_ibl_end))
			find_way_out(t, uc);
		return;
	}
	if (info->code > 0 && sync_signals & sig_bit(sig)) {
		on_fault(t, sig, info, uc);
		return;
	}
	if (t->pending || (t->blocked & sig_bit(sig) && !waits(t, uc))) {
		t->held |= sig_bit(sig);
		t->held_info[sig] = *info;
		return;
	}
	if (sig == SIGSYS && info->code == SYS_SECCOMP && !trapped(t, info, uc))
		return;
	note(t, info, uc, false);
	if (between(at, rt_syscall_begin, rt_syscall_restart) && at <= (uint64_t)rt_syscall_insn)
		uc->c.rip = (uint64_t)rt_syscall_restart;
	else if (between(at, rt_enter_check, rt_enter_end))
		abort_entry(&uc->c);
	else if (in_cache(at) || between(at, rt_ibl_begin, rt_ibl_end))
		find_way_out(t, uc);
}
