/* SPDX-License-Identifier: MIT */
/*
 * Delivery of signals, once the program's state is known: the pending signal, from the kernel or raised by the engine,
 * is ignored, enters the program's handler, or ends the process. signals_priv.h has a signal's whole way.
 */
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/audit.h>

#include "engine/core/edges.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/signals_priv.h"
#include "engine/os/sys.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/mode.h"
#include "engine/shared.h"

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

void signals_die(int sig)
{
	struct action a = { 0 };
	sig_set none = ~sig_bit(sig);
	long pid = sys(__NR_getpid), tid = sys(__NR_gettid);

	if (lines_observed())
		lines_end(self());
	schedule_end(self());
	signals_kernel_action(sig, &a, NULL);
	sys(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
	sys(__NR_tgkill, pid, tid, sig);
	if (is_init())
		fault_by(sig);
	for (;;)
		sys(__NR_exit_group, 128 + sig);
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
			signals_kernel_action(sig, &t->handlers->a[sig], NULL);
	}
	unlock(&t->handlers->lock);
	t->pending = 0;
	if (!t->signal.fault && (a.handler == 1 || (!a.handler && is_init()))) {
		signals_set_mask(t, t->signal.mask);
		return;
	}
	deadly = a.handler <= 1 || (t->signal.fault && t->signal.during & sig_bit(sig));
	if (!deadly && !signals_push_frame(t, &a)) {
		if (sig != SIGSEGV) {
			force_segv(t);
			return;
		}
		deadly = true;
	}
	if (deadly) {
		edges_note(EXACT_CAME, 0, at, 0);
		signals_die(sig);
	}
	edges_note(EXACT_CAME, 0, at, t->pc);
	mask = t->signal.during | a.mask;
	if (!(a.flags & SA_NODEFER))
		mask |= sig_bit(sig);
	signals_set_mask(t, mask);
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
