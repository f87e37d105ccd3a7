/* SPDX-License-Identifier: MIT */
/*
 * Signals. The kernel runs the engine's handler, which notes the signal and brings the thread to a place where the
 * program's state is known. There the program's handler is entered, with a frame like the kernel's
 * (arch/x86/kernel/signal.c). From the note to the delivery all signals are blocked, so at most one is pending. While
 * none is pending the kernel's signal mask is the program's, except for the signals that the engine itself depends on:
 * which of those the program blocks is kept in the thread.
 */
#include <asm/errno.h>
#include <asm/sigcontext.h>
#include <asm/signal.h>
#include <asm/siginfo.h>
#include <linux/audit.h>
#include <linux/io_uring.h>

#include "engine/core/cache.h"
#include "engine/core/edges.h"
#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/rseq.h"
#include "engine/os/signals.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/mark.h"
#include "engine/shared.h"
#include "engine/os/sys.h"

#define FLAG_TRAP 0x100ul
#define FLAG_DIRECTION 0x400ul
#define FLAG_ALIGNMENT 0x40000ul
#define FLAGS_PROGRAM 0x40dd5ul /* flags that a handler may change: AC OF DF TF SF ZF AF PF CF */
#define UC_FP_XSTATE 1
#define UC_SIGCONTEXT_SS 2
#define UC_STRICT_RESTORE_SS 4
#define FAULT_WRITE 2
#define TRACE 2 /* TRAP_TRACE */
#define ALTSTACK_ON 1
#define ALTSTACK_OFF 2
#define ALTSTACK_AUTODISARM (1u << 31)

struct context { /* struct sigcontext, 64-bit */
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
		flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct sig_ucontext {
	uint64_t flags, link;
	struct sig_stack stack;
	struct context c;
	sig_set mask;
};

struct frame {
	uint64_t restorer;
	struct sig_ucontext uc;
	struct sig_info info;
};

static const sig_set sync_signals =
	sig_bit(SIGSEGV) | sig_bit(SIGBUS) | sig_bit(SIGILL) | sig_bit(SIGFPE) | sig_bit(SIGTRAP);
static uint64_t xsave_mask, xsave_size;

static long kernel_action(int sig, const struct action *a, struct action *old)
{
	return sys(__NR_rt_sigaction, sig, a, old, 8);
}

void signals_block_all(sig_set *old)
{
	sig_set all = ~sync_signals;

	sys(__NR_rt_sigprocmask, SIG_SETMASK, &all, old, 8);
}

void signals_restore(sig_set mask)
{
	sys(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

static bool in_cache(uint64_t at)
{
	return at >= CACHE_BASE && at < CACHE_BASE + CACHE_SIZE;
}

static bool between(uint64_t at, void (*from)(void), void (*to)(void))
{
	return at >= (uint64_t)from && at < (uint64_t)to;
}

static void save_regs(struct thread *t, const struct context *c)
{
	uint64_t *r = t->regs;

	r[RAX] = c->rax, r[RCX] = c->rcx, r[RDX] = c->rdx, r[RBX] = c->rbx;
	r[RSP] = c->rsp, r[RBP] = c->rbp, r[RSI] = c->rsi, r[RDI] = c->rdi;
	r[R8] = c->r8, r[R9] = c->r9, r[R10] = c->r10, r[R11] = c->r11;
	r[R12] = c->r12, r[R13] = c->r13, r[R14] = c->r14, r[R15] = c->r15;
	t->flags = c->flags & ~FLAG_TRAP;
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

/* Leaves the cache for the dispatcher, with the program's present state. */
static void leave(struct thread *t, struct sig_ucontext *uc, const struct place *place)
{
	const struct block *b = cache_by_code(uc->c.rip);

	save_regs(t, &uc->c);
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
	uc->c.rip = (uint64_t)rt_enter_abort;
	uc->c.flags &= ~(FLAG_TRAP | FLAG_DIRECTION | FLAG_ALIGNMENT);
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

/* Handles a signal that came during a system call which waits with a mask of its own. That mask
 * stays in force until the handler has begun. */
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

/* Continues in the other half of the stream, because the present half is full. */
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
		uc->c.rip = (uint64_t)rt_enter_abort;
	else if (in_cache(at) || between(at, rt_ibl_begin, rt_ibl_end))
		find_way_out(t, uc);
}

static void install(int sig, uint64_t flags)
{
	struct action a = { .handler = (uint64_t)rt_on_signal,
			    .flags = (flags & (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_RESTART)) |
				     SA_SIGINFO | SA_ONSTACK | SA_RESTORER,
			    .restorer = (uint64_t)rt_sigreturn,
			    .mask = ~sync_signals };

	kernel_action(sig, &a, NULL);
}

/* Sets the program's mask while no signal is pending. Signals that this unblocks are delivered now. */
static void set_mask(struct thread *t, sig_set mask)
{
	t->blocked = mask & sync_signals;
	for (int sig = 1; t->held & ~mask && sig <= SIGNALS; sig++)
		if (t->held & ~mask & sig_bit(sig)) {
			long pid = sys(__NR_getpid);

			t->held &= ~sig_bit(sig);
			sys(__NR_rt_tgsigqueueinfo, pid, t->tid, sig, &t->held_info[sig]);
		}
	signals_restore(mask & ~sync_signals);
}

long signals_mask(struct thread *t)
{
	const void *new = (const void *)t->regs[RSI];
	void *old = (void *)t->regs[RDX];
	sig_set mask, before, set;

	if (t->regs[R10] != 8)
		return -EINVAL;
	if (new && !rt_copy(&set, new, sizeof(set)))
		return -EFAULT;
	signals_block_all(&before);
	if (t->pending) {
		signals_restore(before);
		return RESTART;
	}
	before |= t->blocked;
	mask = before;
	switch (new ? (int)t->regs[RDI] : SIG_BLOCK) {
	case SIG_BLOCK:
		mask |= new ? set : 0;
		break;
	case SIG_UNBLOCK:
		mask &= ~set;
		break;
	case SIG_SETMASK:
		mask = set;
		break;
	default:
		set_mask(t, before);
		return -EINVAL;
	}
	set_mask(t, mask & ~(sig_bit(SIGKILL) | sig_bit(SIGSTOP)));
	return !old || rt_copy(old, &before, sizeof(before)) ? 0 : -EFAULT;
}

long signals_pending(struct thread *t)
{
	void *to = (void *)t->regs[RDI];
	long r = rt_syscall(t);
	sig_set set;

	if (!r && t->held && t->regs[RSI] == sizeof(set) && rt_copy(&set, to, sizeof(set))) {
		set |= t->held;
		rt_copy(to, &set, sizeof(set));
	}
	return r;
}

/* Returns the mask in the call's arguments, or the mask that they point to. */
static bool mask_of(const struct thread *t, long nr, sig_set *mask)
{
	const uint64_t *r = t->regs;
	struct {
		uint64_t mask, size;
	} of;

	switch (nr) {
	case __NR_rt_sigsuspend:
		of.mask = r[RDI];
		of.size = r[RSI];
		break;
	case __NR_ppoll:
		of.mask = r[R10];
		of.size = r[R8];
		break;
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		of.mask = r[R8];
		of.size = r[R9];
		break;
	case __NR_pselect6:
	case __NR_io_pgetevents:
		if (!r[R9] || !rt_copy(&of, (const void *)r[R9], sizeof(of)))
			return false;
		break;
	case __NR_io_uring_enter:
		of.mask = r[R8];
		of.size = r[R9];
		if (!(r[R10] & IORING_ENTER_GETEVENTS) || !of.mask)
			return false;
		if (r[R10] & IORING_ENTER_EXT_ARG) {
			if (!rt_copy(&of, (const void *)r[R8], sizeof(of)))
				return false;
			of.size = (uint32_t)of.size;
		}
		break;
	default:
		return false;
	}
	return of.mask && of.size == sizeof(*mask) &&
	       rt_copy(mask, (const void *)of.mask, sizeof(*mask));
}

/* Returns signals that are held here to the kernel, which delivers them when the call's mask allows
 * it. The result says which ones. */
static sig_set give_back(struct thread *t, sig_set which)
{
	long pid = sys(__NR_getpid);

	which &= t->held;
	if (!which)
		return 0;
	sys(__NR_rt_sigprocmask, SIG_BLOCK, &which, 0, 8);
	t->held &= ~which;
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (which & sig_bit(sig))
			sys(__NR_rt_tgsigqueueinfo, pid, t->tid, sig, &t->held_info[sig]);
	return which;
}

long signals_wait(struct thread *t, long nr)
{
	sig_set given;
	long r;

	if (!mask_of(t, nr, &t->wait.mask))
		return rt_syscall(t);
	t->wait.mask &= ~(sig_bit(SIGKILL) | sig_bit(SIGSTOP));
	given = give_back(t, ~t->wait.mask);
	t->wait.on = true;
	r = rt_syscall(t);
	t->wait.on = false;
	if (given)
		sys(__NR_rt_sigprocmask, SIG_UNBLOCK, &given, 0, 8);
	return r;
}

void signals_init(void)
{
	uint32_t a, b, c = 0, d;
	struct handlers *h = arena(sizeof(*h));
	struct thread *t = self();

	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	xsave_mask = (uint64_t)d << 32 | a;
	__asm__ volatile("cpuid" : "=a"(a), "=b"(b), "+c"(c), "=d"(d) : "a"(0xd));
	xsave_size = b;
	h->users = 1;
	t->handlers = h;
	sys(__NR_rt_sigprocmask, SIG_UNBLOCK, &sync_signals, &t->blocked, 8);
	t->blocked &= sync_signals;
	for (int sig = 1; sig <= SIGNALS; sig++)
		kernel_action(sig, NULL, &h->a[sig]);
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (sync_signals & sig_bit(sig))
			install(sig, 0);
}

void signals_thread(struct thread *t)
{
	struct sig_stack s = { .sp = (uint64_t)t + T_SIGNAL_STACK, .size = T_SIGNAL_STACK_SIZE };

	sys(__NR_sigaltstack, &s, 0);
}

long signals_action(struct thread *t)
{
	int sig = (int)t->regs[RDI];
	const void *new = (const void *)t->regs[RSI];
	void *old = (void *)t->regs[RDX];
	struct action a, before;
	long r = 0;

	if (t->regs[R10] != 8 || sig < 1 || sig > SIGNALS ||
	    (new && (sig == SIGKILL || sig == SIGSTOP)))
		return -EINVAL;
	if (new && !rt_copy(&a, new, sizeof(a)))
		return -EFAULT;
	lock(&t->handlers->lock);
	before = t->handlers->a[sig];
	if (new) {
		a.mask &= ~(sig_bit(SIGKILL) | sig_bit(SIGSTOP));
		t->handlers->a[sig] = a;
		if (a.handler > 1 && a.flags & SA_SIGINFO && sync_signals & sig_bit(sig))
			flush_to_keep_state();
		if (a.handler > 1 || sync_signals & sig_bit(sig))
			install(sig, a.flags);
		else
			r = kernel_action(sig, &a, NULL);
	}
	unlock(&t->handlers->lock);
	if (!r && old && !rt_copy(old, &before, sizeof(before)))
		return -EFAULT;
	return r;
}

static bool on_altstack(const struct thread *t)
{
	uint64_t sp = t->regs[RSP];

	return !((unsigned)t->altstack.flags & ALTSTACK_AUTODISARM) && sp > t->altstack.sp &&
	       sp - t->altstack.sp <= t->altstack.size;
}

long signals_altstack(struct thread *t)
{
	const void *new = (const void *)t->regs[RDI];
	void *old = (void *)t->regs[RSI];
	struct sig_stack s, before = t->altstack;

	before.flags = !before.size ? ALTSTACK_OFF : on_altstack(t) ? ALTSTACK_ON : 0;
	before.flags |= (int)((unsigned)t->altstack.flags & ALTSTACK_AUTODISARM);
	if (new) {
		unsigned mode;

		if (!rt_copy(&s, new, sizeof(s)))
			return -EFAULT;
		if (on_altstack(t))
			return -EPERM;
		mode = (unsigned)s.flags & ~ALTSTACK_AUTODISARM;
		if (mode != ALTSTACK_OFF && mode != ALTSTACK_ON && mode)
			return -EINVAL;
		if (mode == ALTSTACK_OFF)
			s.sp = s.size = 0;
		else if (s.size < 2048)
			return -ENOMEM;
		t->altstack = s;
	}
	if (old && !rt_copy(old, &before, sizeof(before)))
		return -EFAULT;
	return 0;
}

/* The first process of a pid namespace dies only of signals that its own instructions raise. */
static bool is_init(void)
{
	return sys(__NR_getpid) == 1;
}

static void fault_by(int sig)
{
	switch (sig) {
	case SIGSEGV: /* an address that is not canonical */
		__asm__ volatile("movb $0, (%0)" : : "r"(1ul << 63) : "memory");
		break;
	case SIGILL:
		__asm__ volatile("ud2");
		break;
	case SIGTRAP:
		__asm__ volatile("int3");
		break;
	case SIGFPE:
		__asm__ volatile("xor %%ecx, %%ecx\n\tdiv %%ecx" : : : "eax", "ecx", "edx", "cc");
		break;
	case SIGBUS: /* the alignment check */
		__asm__ volatile("pushf\n\torl $0x40000, (%%rsp)\n\tpopf\n\tmov 1(%%rsp), %%eax"
				 :
				 :
				 : "eax", "memory", "cc");
		break;
	default:
		break;
	}
}

static void die_of(int sig)
{
	struct action a = { 0 };
	sig_set none = ~sig_bit(sig);
	long pid = sys(__NR_getpid), tid = sys(__NR_gettid);

	if (lines_observed())
		lines_end(self());
	schedule_end(self());
	kernel_action(sig, &a, NULL);
	sys(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
	sys(__NR_tgkill, pid, tid, sig);
	if (is_init())
		fault_by(sig);
	for (;;)
		sys(__NR_exit_group, 128 + sig);
}

/* Copies the vector state into a frame, with the marks that tell its size. */
static bool save_vectors(uint64_t at)
{
	struct _fpstate_64 *fp = (void *)at;
	uint8_t zero[512 + 64] = { 0 };
	uint32_t magic = FP_XSTATE_MAGIC2;
	/* a probe: the copy meets the fault that xsave would meet */
	if (!rt_copy((void *)at, zero, sizeof(zero)) ||
	    !rt_copy((void *)(at + xsave_size), &magic, 4))
		return false;
	__asm__ volatile("xsave64 %0"
			 : "+m"(*(uint8_t(*)[4096])at)
			 : "a"((uint32_t)xsave_mask), "d"((uint32_t)(xsave_mask >> 32)));
	fp->sw_reserved.magic1 = FP_XSTATE_MAGIC1;
	fp->sw_reserved.extended_size = (uint32_t)xsave_size + 4;
	fp->sw_reserved.xfeatures = xsave_mask;
	fp->sw_reserved.xstate_size = (uint32_t)xsave_size;
	return true;
}

static bool load_vectors(struct thread *t, uint64_t at)
{
	uint64_t *area = (uint64_t *)((char *)t + T_SCRATCH);
	uint32_t *sw;

	if (!rt_copy(area, (const void *)at, 512))
		return false;
	sw = (uint32_t *)((char *)area + 464);
	area[3] &= ~0xffff0000ull | 0xffff; /* reserved bits of mxcsr are cleared */
	memset((char *)area + 512, 0, 64);
	if (sw[0] == FP_XSTATE_MAGIC1 && sw[4] == (uint32_t)xsave_size) {
		if (!rt_copy((char *)area + 512, (const void *)(at + 512), xsave_size - 512))
			return false;
		area[64] &= xsave_mask;
		memset(&area[65], 0, 56);
	} else {
		area[64] = 3; /* x87 and SSE */
	}
	__asm__ volatile("xrstor64 %0" ::"m"(*(uint8_t(*)[4096])area), "a"((uint32_t)xsave_mask),
			 "d"((uint32_t)(xsave_mask >> 32)));
	return true;
}

static void fill_context(const struct thread *t, struct context *c)
{
	const uint64_t *r = t->regs;

	c->rax = r[RAX], c->rcx = r[RCX], c->rdx = r[RDX], c->rbx = r[RBX];
	c->rsp = r[RSP], c->rbp = r[RBP], c->rsi = r[RSI], c->rdi = r[RDI];
	c->r8 = r[R8], c->r9 = r[R9], c->r10 = r[R10], c->r11 = r[R11];
	c->r12 = r[R12], c->r13 = r[R13], c->r14 = r[R14], c->r15 = r[R15];
	c->rip = t->pc;
	c->flags = t->flags;
	c->cs = 0x33;
	c->ss = 0x2b;
	c->err = t->signal.err;
	c->trapno = t->signal.trapno;
	c->cr2 = t->signal.cr2;
	c->oldmask = t->signal.mask;
}

static bool push_frame(struct thread *t, const struct action *a)
{
	struct frame f = { .restorer = a->restorer, .info = t->signal.info };
	uint64_t sp = t->regs[RSP], fp;
	struct sig_stack alt = t->altstack;
	bool on_alt = on_altstack(t);

	f.uc.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	f.uc.stack = t->altstack;
	if (!t->altstack.size)
		f.uc.stack.flags = ALTSTACK_OFF;
	if (a->flags & SA_ONSTACK && alt.size && !on_alt) {
		sp = alt.sp + alt.size;
		on_alt = true;
		if ((unsigned)alt.flags & ALTSTACK_AUTODISARM)
			memset(&t->altstack, 0, sizeof(t->altstack));
	} else {
		sp -= 128;
	}
	fp = (sp - (xsave_size + 4)) & ~63ul;
	sp = ((fp - sizeof(f)) & ~15ul) - 8;
	/* the alternate stack has no room */
	if (on_alt && (sp <= alt.sp || sp - alt.sp > alt.size))
		return false;
	fill_context(t, &f.uc.c);
	f.uc.c.fpstate = fp;
	f.uc.mask = t->signal.mask;
	if (!save_vectors(fp) || !rt_copy((void *)sp, &f, sizeof(f)))
		return false;
	t->regs[RSP] = sp;
	t->regs[RDI] = (uint64_t)f.info.signo;
	t->regs[RSI] = sp + offsetof(struct frame, info);
	t->regs[RDX] = sp + offsetof(struct frame, uc);
	t->regs[RAX] = 0;
	t->pc = a->handler;
	t->flags &= ~(FLAG_TRAP | FLAG_DIRECTION | 0x10000ul);
	return true;
}

/* Handles a handler's frame that finds no room: the next signal is one that only another stack can
 * take. */
static void force_segv(struct thread *t)
{
	t->signal.info = (struct sig_info){ .signo = SIGSEGV, .code = SI_KERNEL };
	t->signal.fault = true;
	t->pending = 1;
}

void signals_deliver(struct thread *t)
{
	int sig = t->signal.info.signo;
	uint64_t at = t->pc;
	struct action a;
	bool deadly;
	sig_set mask;

	lock(&t->handlers->lock);
	a = t->handlers->a[sig];
	if (a.handler > 1 && a.flags & SA_RESETHAND) {
		t->handlers->a[sig].handler = 0;
		if (!(sync_signals & sig_bit(sig)))
			kernel_action(sig, &t->handlers->a[sig], NULL);
	}
	unlock(&t->handlers->lock);
	t->pending = 0;
	if (!t->signal.fault && (a.handler == 1 || (!a.handler && is_init()))) {
		set_mask(t, t->signal.mask);
		return;
	}
	deadly = a.handler <= 1 || (t->signal.fault && t->signal.during & sig_bit(sig));
	if (!deadly && !push_frame(t, &a)) {
		if (sig != SIGSEGV) {
			force_segv(t);
			return;
		}
		deadly = true;
	}
	if (deadly) {
		edges_note(EXACT_CAME, 0, at, 0);
		die_of(sig);
	}
	edges_note(EXACT_CAME, 0, at, t->pc);
	mask = t->signal.during | a.mask;
	if (!(a.flags & SA_NODEFER))
		mask |= sig_bit(sig);
	set_mask(t, mask);
}

bool signals_raise(struct thread *t, int sig, int code, uint64_t addr)
{
	sig_set old = 0;

	signals_block_all(&old);
	if (t->pending)
		return false; /* the pending signal is delivered first, and the fault comes again */
	memset(&t->signal, 0, sizeof(t->signal));
	t->signal.info = (struct sig_info){ .signo = sig, .code = code, .addr = addr };
	t->signal.mask = t->signal.during = old | t->blocked;
	t->signal.fault = true;
	t->signal.trapno = 14;
	t->signal.err = 0x14;
	t->signal.cr2 = addr;
	t->pending = 1;
	return true;
}

bool signals_trapped(const struct thread *t)
{
	return t->pending && t->signal.info.signo == SIGSYS && t->signal.info.code == SYS_SECCOMP;
}

bool signals_raise_call(struct thread *t, long nr)
{
	const struct {
		int call;
		unsigned arch;
	} which = { (int)nr, AUDIT_ARCH_X86_64 };

	if (!signals_raise(t, SIGSYS, SYS_USER_DISPATCH, t->pc))
		return false;
	memcpy(t->signal.info.rest, &which, sizeof(which));
	t->signal.trapno = t->signal.err = t->signal.cr2 = 0;
	return true;
}

/* Called when the return frame cannot be read. False: another signal is delivered first. */
static bool raise_bad_frame(struct thread *t)
{
	if (!signals_raise(t, SIGSEGV, SI_KERNEL, 0))
		return false;
	t->regs[RAX] = 0;
	return true;
}

bool signals_return(struct thread *t)
{
	struct sig_ucontext uc;

	if (!rt_copy(&uc, (const void *)(t->regs[RSP] - 8 + offsetof(struct frame, uc)),
		     sizeof(uc))) {
		t->regs[RCX] = t->pc;
		t->regs[R11] = t->flags;
		return raise_bad_frame(t);
	}
	save_regs(t, &uc.c);
	t->flags = (uc.c.flags & FLAGS_PROGRAM & ~FLAG_TRAP) | 0x202;
	t->pc = uc.c.rip;
	if (uc.c.fpstate && !load_vectors(t, uc.c.fpstate)) {
		set_mask(t, uc.mask);
		if (!raise_bad_frame(t))
			die_of(SIGSEGV);
		return true;
	}
	if (!(uc.stack.flags & ALTSTACK_OFF) || !uc.stack.size)
		t->altstack = uc.stack;
	if (t->altstack.flags & ALTSTACK_OFF)
		memset(&t->altstack, 0, sizeof(t->altstack));
	set_mask(t, uc.mask);
	return true;
}

void signals_before_exec(struct thread *t)
{
	struct action ignore = { .handler = 1 };

	for (int sig = 1; sig <= SIGNALS; sig++)
		if (sync_signals & sig_bit(sig) && t->handlers->a[sig].handler == 1)
			kernel_action(sig, &ignore, NULL);
	sys(__NR_rt_sigprocmask, SIG_BLOCK, &t->blocked, 0, 8);
}

void signals_after_exec(void)
{
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (sync_signals & sig_bit(sig))
			install(sig, 0);
	sys(__NR_rt_sigprocmask, SIG_UNBLOCK, &sync_signals, 0, 8);
}

void signals_reset(struct thread *t)
{
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (t->handlers->a[sig].handler > 1)
			t->handlers->a[sig] = (struct action){ 0 };
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (sync_signals & sig_bit(sig))
			install(sig, 0);
}

/*
 * Ends the engine's part in a process of one thread. Signals, memory and gs are set to what the
 * program expects, and the program continues from t->pc by itself. The kernel restores the
 * registers, as after a handler. All signals are blocked; `mask` was the program's.
 */
void signals_leave(struct thread *t, sig_set mask)
{
	struct frame *f = (struct frame *)((char *)t + T_SCRATCH);
	uint64_t vectors = ((uint64_t)(f + 1) + 63) & ~63ul;

	memset(f, 0, sizeof(*f));
	t->signal = (struct pending){ .mask = mask | t->blocked };
	fill_context(t, &f->uc.c);
	f->uc.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	f->uc.c.fpstate = vectors;
	f->uc.mask = t->signal.mask;
	f->uc.stack = t->altstack;
	if (!t->altstack.size)
		f->uc.stack.flags = ALTSTACK_OFF;
	if (!save_vectors(vectors))
		die("no memory to leave the program");
	for (int sig = 1; sig <= SIGNALS; sig++)
		kernel_action(sig, &t->handlers->a[sig], NULL);
	set_gs_base(t->gs_base);
	__asm__ volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : "r"(&f->uc) : "memory");
	__builtin_unreachable();
}
