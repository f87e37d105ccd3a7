/* SPDX-License-Identifier: MIT */
/*
 * Actions of signals. The program's are kept here; in the kernel, the engine's handler stands in place of each handler of
 * the program, and for the signals that the engine depends on.
 */
#include <asm/errno.h>
#include <asm/signal.h>

#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/signals_priv.h"
#include "engine/os/sys.h"
#include "engine/os/util.h"

long signals_kernel_action(int sig, const struct action *a, struct action *old)
{
	return sys(__NR_rt_sigaction, sig, a, old, 8);
}

static void install(int sig, uint64_t flags)
{
	struct action a = { .handler = (uint64_t)rt_on_signal,
			    .flags = (flags & (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_RESTART)) |
				     SA_SIGINFO | SA_ONSTACK | SA_RESTORER,
			    .restorer = (uint64_t)rt_sigreturn,
			    .mask = ~sync_signals };

	signals_kernel_action(sig, &a, NULL);
}

void signals_init(void)
{
	struct handlers *h = arena(sizeof(*h));
	struct thread *t = self();

	signals_frame_init();
	h->users = 1;
	t->handlers = h;
	sys(__NR_rt_sigprocmask, SIG_UNBLOCK, &sync_signals, &t->blocked, 8);
	t->blocked &= sync_signals;
	for (int sig = 1; sig <= SIGNALS; sig++)
		signals_kernel_action(sig, NULL, &h->a[sig]);
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
			r = signals_kernel_action(sig, &a, NULL);
	}
	unlock(&t->handlers->lock);
	if (!r && old && !rt_copy(old, &before, sizeof(before)))
		return -EFAULT;
	return r;
}

void signals_before_exec(struct thread *t)
{
	struct action ignore = { .handler = 1 };

	for (int sig = 1; sig <= SIGNALS; sig++)
		if (sync_signals & sig_bit(sig) && t->handlers->a[sig].handler == 1)
			signals_kernel_action(sig, &ignore, NULL);
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
