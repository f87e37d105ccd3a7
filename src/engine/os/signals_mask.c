/* SPDX-License-Identifier: MIT */
/*
 * Masks: which signals the program blocks, always or while a system call waits. Signals that arrive although the program
 * blocks them, or while another one is pending, are held here until they may be delivered.
 */
#include <asm/errno.h>
#include <asm/signal.h>
#include <linux/io_uring.h>

#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/signals_priv.h"
#include "engine/os/sys.h"

void signals_block_all(sig_set *old)
{
	sig_set all = ~sync_signals;

	sys(__NR_rt_sigprocmask, SIG_SETMASK, &all, old, 8);
}

void signals_restore(sig_set mask)
{
	sys(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

void signals_set_mask(struct thread *t, sig_set mask)
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
		signals_set_mask(t, before);
		return -EINVAL;
	}
	signals_set_mask(t, mask & ~(sig_bit(SIGKILL) | sig_bit(SIGSTOP)));
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
