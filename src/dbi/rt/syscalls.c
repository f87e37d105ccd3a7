/* SPDX-License-Identifier: MIT */
/* System calls that the engine has a part in; all others go to the kernel as they are. */
#include <asm/errno.h>
#include <asm/prctl.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "dbi/rt/procfs.h"
#include "dbi/rt/rt.h"
#include "dbi/rt/sys.h"

#define RLIMIT_DATA_NUMBER 2
#define RLIMIT_AS_NUMBER 9

/* A mapping that would be where lines are marked. */
static long keep_away(uint64_t addr, long flags)
{
	if ((flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE)
		return -EEXIST;
	say("the program maps memory at %lx, where lines of memory are marked: it is refused; "
	    "record it without --observe lines",
	    addr);
	return -ENOMEM;
}

static long do_mmap(struct thread *t)
{
	const uint64_t *r = t->regs;
	uint64_t hint = r[RDI], n = r[RSI];
	long flags = (long)r[R10], ret;

	if (lines_on() && flags & MAP_FIXED && lines_in_the_way(hint, n))
		return keep_away(hint, flags);
	/* images within reach of the cache */
	if (!hint && n && n < 1ul << 30 && !(flags & (MAP_FIXED | MAP_32BIT)) &&
	    ((r[RDX] & PROT_EXEC) || (!(flags & MAP_ANONYMOUS) && flags & MAP_PRIVATE)))
		hint = near_hint(n);
	lines_mapping_begin();
	/* nobody may translate in between: it would be what was there, or be forgotten with it */
	lock(&cache_lock);
	ret = sys(__NR_mmap, hint, n, r[RDX], flags, r[R8], r[R9]);
	if (!sys_failed(ret))
		regions_forget((uint64_t)ret, n);
	unlock(&cache_lock);
	if (!sys_failed(ret) && lines_on() && flags & MAP_FIXED) /* in the place of another */
		lines_unmapped((uint64_t)ret, n);
	lines_mapping_end();
	return ret;
}

/* Lines of memory that is gone leave the working set. */
static void lines_changed(const struct thread *t, long nr, uint64_t ret)
{
	const uint64_t *r = t->regs;

	if (nr == __NR_munmap) {
		lines_unmapped(r[RDI], r[RSI]);
	} else if (nr == __NR_mremap) {
		if (ret != r[RDI]) {
			lines_unmapped(r[RDI], r[RSI]);
			if (r[R10] & MREMAP_FIXED)
				lines_unmapped(ret, r[RDX]);
		} else if (r[RDX] < r[RSI]) {
			lines_unmapped(r[RDI] + r[RDX], r[RSI] - r[RDX]);
		}
	}
}

static long do_brk(struct thread *t)
{
	uint64_t old, new;

	lines_mapping_begin();
	old = (uint64_t)sys(__NR_brk, 0);
	new = (uint64_t)rt_syscall(t);
	if (!sys_failed((long)new) && new < old) {
		uint64_t from = (new + 4095) & ~4095ull;

		lines_unmapped(from, old > from ? old - from : 0);
	}
	lines_mapping_end();
	return (long)new;
}

/* Code that is gone, or can be written now, is forgotten. */
static void code_changed(const struct thread *t, long nr, uint64_t ret)
{
	const uint64_t *r = t->regs;

	switch (nr) {
	case __NR_munmap:
		regions_forget(r[RDI], r[RSI]);
		break;
	case __NR_mprotect:
	case __NR_pkey_mprotect:
		regions_protect(r[RDI], r[RSI], (int)r[RDX]);
		break;
	case __NR_mremap:
		regions_forget(r[RDI], r[RSI]);
		regions_forget(ret, r[RDX]);
		break;
	default:
		break;
	}
}

static long do_mapping(struct thread *t, long nr)
{
	const uint64_t *r = t->regs;
	long ret;

	if (lines_on() && lines_in_the_way(r[RDI], r[RSI] ? r[RSI] : 1))
		return nr == __NR_munmap ? 0 : -ENOMEM;
	if (lines_on() && nr == __NR_mremap && r[R10] & MREMAP_FIXED &&
	    lines_in_the_way(r[R8], r[RDX]))
		return keep_away(r[R8], 0);
	lines_mapping_begin();
	lock(&cache_lock);
	if (nr == __NR_mremap)
		regions_release(r[RDI], r[RSI]);
	ret = sys(nr, r[RDI], r[RSI], r[RDX], r[R10], r[R8]);
	if (!sys_failed(ret))
		code_changed(t, nr, (uint64_t)ret);
	unlock(&cache_lock);
	if (!sys_failed(ret) && lines_on())
		lines_changed(t, nr, (uint64_t)ret);
	lines_mapping_end();
	return ret;
}

static long do_arch_prctl(struct thread *t)
{
	switch ((int)t->regs[RDI]) {
	case ARCH_SET_GS:
		if (t->regs[RSI] >= 1ul << 47)
			return -EPERM;
		t->gs_base = t->regs[RSI];
		return 0;
	case ARCH_GET_GS:
		return rt_copy((void *)t->regs[RSI], &t->gs_base, 8) ? 0 : -EFAULT;
	default:
		return rt_syscall(t);
	}
}

/* Limits on address space and data count what is the engine's: that goes on top of the program's. */
static uint64_t on_top[2]; /* of data, of address space, as they were last set */

static long do_limit(struct thread *t, long nr)
{
	uint64_t *r = t->regs, own[2];
	unsigned which = (unsigned)(nr == __NR_prlimit64 ? r[RSI] : r[RDI]);
	const uint64_t *new = NULL;
	uint64_t *old = NULL, *top = &on_top[which == RLIMIT_AS_NUMBER], size = 0;
	long ret;

	if ((which != RLIMIT_AS_NUMBER && which != RLIMIT_DATA_NUMBER) ||
	    (nr == __NR_prlimit64 && r[RDI] && (long)r[RDI] != sys(__NR_getpid)))
		return rt_syscall(t);
	if (nr == __NR_prlimit64) {
		new = (const uint64_t *)r[RDX];
		old = (uint64_t *)r[R10];
	} else if (nr == __NR_setrlimit) {
		new = (const uint64_t *)r[RSI];
	} else {
		old = (uint64_t *)r[RSI];
	}
	if (new) {
		if (!rt_copy(own, new, sizeof(own)))
			return -EFAULT;
		size = procfs_engine_size(which == RLIMIT_DATA_NUMBER);
		for (int i = 0; i < 2; i++)
			own[i] = own[i] < ~0ull - size ? own[i] + size : ~0ull;
		new = own;
	}
	ret = sys(__NR_prlimit64, 0, which, new, old);
	if (sys_failed(ret))
		return ret;
	if (old && rt_copy(own, old, sizeof(own))) {
		for (int i = 0; i < 2; i++)
			if (own[i] != ~0ull && own[i] >= *top)
				own[i] -= *top;
		rt_copy(old, own, sizeof(own));
	}
	if (new)
		*top = size;
	return ret;
}

static long intercepted(struct thread *t, long nr)
{
	uint64_t *r = t->regs;
	long ret;

	switch (nr) {
	case __NR_mmap:
		return do_mmap(t);
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_mremap:
		return do_mapping(t, nr);
	case __NR_brk:
		return lines_on() ? do_brk(t) : rt_syscall(t);
	case __NR_rt_sigaction:
		return signals_action(t);
	case __NR_rt_sigprocmask:
		return signals_mask(t);
	case __NR_rt_sigpending:
		return signals_pending(t);
	case __NR_sigaltstack:
		return signals_altstack(t);
	case __NR_arch_prctl:
		return do_arch_prctl(t);
	case __NR_rseq: /* the kernel could not restart what runs from the cache; libraries do without */
	case __NR_uselib:
		return -ENOSYS;
	case __NR_getrlimit:
	case __NR_setrlimit:
	case __NR_prlimit64:
		return do_limit(t, nr);
	case __NR_readlink:
		return procfs_readlink(t, r[RDI], r[RSI], (int64_t)r[RDX]);
	case __NR_readlinkat:
		return procfs_readlink(t, r[RSI], r[RDX], (int64_t)r[R10]);
	case __NR_open:
		return procfs_open(t, RDI, RSI);
	case __NR_openat:
		return procfs_open(t, RSI, RDX);
	case __NR_getdents64:
		return procfs_list(t);
	case __NR_stat:
		return procfs_path(t, RDI);
	case __NR_newfstatat:
	case __NR_statx:
		return procfs_path(t, RSI);
	case __NR_exit_group:
		lines_end(t);
		log_ended();
		return rt_syscall(t);
	default:
		if (process_syscall(t, nr, &ret) || log_descriptors(t, nr, &ret))
			return ret;
		return rt_syscall(t);
	}
}

bool do_syscall(struct thread *t)
{
	long nr = (long)t->regs[RAX], ret;

	if (nr == __NR_rt_sigreturn) {
		signals_return(t);
		return true;
	}
	ret = intercepted(t, nr);
	if (ret == -EFAULT) { /* the kernel met a page that we protect */
		bool again;

		lock(&cache_lock);
		again = regions_unwatch_all();
		unlock(&cache_lock);
		if (again)
			ret = RESTART;
	}
	if (ret == RESTART) {
		t->pc -= 2;
		return false;
	}
	if (lines_on())
		lines_syscall(t, nr, t->regs, ret);
	t->regs[RAX] = (uint64_t)ret;
	t->regs[RCX] = t->pc;
	t->regs[R11] = t->flags;
	return true;
}
