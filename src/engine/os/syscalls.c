/* SPDX-License-Identifier: MIT */
/* System calls that the engine takes part in; all others go to the kernel as they are. */
#include <asm/errno.h>
#include <asm/prctl.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "engine/os/procfs.h"
#include "engine/core/cache.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/elf.h"
#include "engine/os/process.h"
#include "engine/os/rseq.h"
#include "engine/os/signals.h"
#include "engine/os/syscalls.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/descriptor.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/os/sys.h"

#define RLIMIT_DATA_NUMBER 2
#define RLIMIT_AS_NUMBER 9
#define PAGE 4096ul
#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif

/* Whether a mapping would lie where lines are marked. */
static long keep_away(uint64_t addr, long flags)
{
	if ((flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE)
		return -EEXIST;
	say("the program maps memory at %lx, where lines of memory are marked: it is refused; "
	    "record it without --observe lines",
	    addr);
	return -ENOMEM;
}

/* Whether there are marks that must be kept. */
static bool in_the_way(struct thread *t, uint64_t start, uint64_t n)
{
	lines_give_way(t, start, n);
	return marks_in_the_way(start, n);
}

static long do_mmap(struct thread *t)
{
	const uint64_t *r = t->regs;
	uint64_t hint = r[RDI], n = r[RSI];
	long flags = (long)r[R10], ret;

	if (marks_kept() && flags & MAP_FIXED && in_the_way(t, hint, n))
		return keep_away(hint, flags);
	/* Images are mapped within reach of the cache. */
	if (!hint && n && n < 1ul << 30 && !(flags & (MAP_FIXED | MAP_32BIT)) &&
	    ((r[RDX] & PROT_EXEC) || (!(flags & MAP_ANONYMOUS) && flags & MAP_PRIVATE)))
		hint = near_hint(n);
	lines_mapping_begin();
	/* no thread may translate meanwhile, or it would see the old code, or lose the new one */
	lock(&cache_lock);
	ret = sys(__NR_mmap, hint, n, r[RDX], flags, r[R8], r[R9]);
	if (!sys_failed(ret))
		regions_forget((uint64_t)ret, n);
	unlock(&cache_lock);
	/* the mapping replaces another one */
	if (!sys_failed(ret) && marks_kept() && flags & MAP_FIXED)
		marks_unmapped((uint64_t)ret, n);
	lines_mapping_end();
	return ret;
}

/* Removes lines of unmapped memory from the working set. */
static void lines_changed(const struct thread *t, long nr, uint64_t ret)
{
	const uint64_t *r = t->regs;

	if (nr == __NR_munmap) {
		marks_unmapped(r[RDI], r[RSI]);
	} else if (nr == __NR_mremap) {
		if (ret != r[RDI]) {
			marks_unmapped(r[RDI], r[RSI]);
			if (r[R10] & MREMAP_FIXED)
				marks_unmapped(ret, r[RDX]);
		} else if (r[RDX] < r[RSI]) {
			marks_unmapped(r[RDI] + r[RDX], r[RSI] - r[RDX]);
		}
	}
}

static long do_brk(struct thread *t)
{
	uint64_t old, new, from;

	lines_mapping_begin();
	lock(&cache_lock);
	old = (uint64_t)sys(__NR_brk, 0);
	new = (uint64_t)sys(__NR_brk, t->regs[RDI]);
	from = (new + 4095) & ~4095ull;
	if (from < old)
		regions_forget(from, old - from);
	unlock(&cache_lock);
	if (marks_kept() && from < old)
		marks_unmapped(from, old - from);
	lines_mapping_end();
	return (long)new;
}

/* Called when other memory, or none, is mapped at the addresses. */
static long do_shm(struct thread *t, long nr)
{
	long ret;

	lock(&cache_lock);
	ret = sys(nr, t->regs[RDI], t->regs[RSI], t->regs[RDX]);
	if (!sys_failed(ret))
		regions_detached(nr == __NR_shmdt ? t->regs[RDI] : (uint64_t)ret);
	unlock(&cache_lock);
	return ret;
}

#define DROPS /* advice that makes memory lose its content */ \
	(1ull << MADV_DONTNEED | 1ull << MADV_FREE | 1ull << MADV_REMOVE)

static long do_madvise(struct thread *t)
{
	const uint64_t *r = t->regs;
	long ret;

	if (r[RDX] >= 64 || !(DROPS >> r[RDX] & 1))
		return rt_syscall(t);
	lock(&cache_lock);
	ret = sys(__NR_madvise, r[RDI], r[RSI], r[RDX]);
	if (!sys_failed(ret))
		cache_invalidate(r[RDI], r[RSI]);
	unlock(&cache_lock);
	return ret;
}

/* Forgets code that has been unmapped, or that can be written to now. */
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

	if (marks_kept() && marks_in_the_way(r[RDI], r[RSI] ? r[RSI] : 1))
		return nr == __NR_munmap ? 0 : -ENOMEM;
	if (marks_kept() && nr == __NR_mremap && r[R10] & MREMAP_FIXED &&
	    in_the_way(t, r[R8], r[RDX]))
		return keep_away(r[R8], 0);
	lines_mapping_begin();
	lock(&cache_lock);
	if (nr == __NR_mremap)
		regions_release(r[RDI], r[RSI]);
	ret = sys(nr, r[RDI], r[RSI], r[RDX], r[R10], r[R8]);
	if (!sys_failed(ret))
		code_changed(t, nr, (uint64_t)ret);
	unlock(&cache_lock);
	if (!sys_failed(ret) && marks_kept())
		lines_changed(t, nr, (uint64_t)ret);
	lines_mapping_end();
	return ret;
}

static long do_arch_prctl(struct thread *t)
{
	long r;

	switch ((int)t->regs[RDI]) {
	case ARCH_SET_FS:
		r = rt_syscall(t);
		if (!r)
			t->fs_base = t->regs[RSI];
		return r;
	case ARCH_SET_GS:
		if (t->regs[RSI] >= 1ul << 47)
			return -EPERM;
		t->gs_base = t->regs[RSI];
		return 0;
	case ARCH_REQ_XCOMP_PERM:
		r = rt_syscall(t);
		signals_frame_components();
		return r;
	case ARCH_GET_GS:
		return rt_copy((void *)t->regs[RSI], &t->gs_base, 8) ? 0 : -EFAULT;
	default:
		return rt_syscall(t);
	}
}

/* Limits on address space and data count the engine's memory, so the engine adds that to the
 * program's limits. */
static uint64_t on_top[2]; /* amounts added to the limits of data and of address space */

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
		lock(&cache_lock);
		publish_open_all();
		unlock(&cache_lock);
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

	if (descriptor_refuses(t, nr))
		return -EBADF;
	switch (nr) {
	case __NR_mmap:
		return do_mmap(t);
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_mremap:
		return do_mapping(t, nr);
	case __NR_brk:
		return do_brk(t);
	case __NR_shmat:
	case __NR_shmdt:
		return do_shm(t, nr);
	case __NR_madvise:
		return do_madvise(t);
	case __NR_rt_sigaction:
		return signals_action(t);
	case __NR_rt_sigprocmask:
		return signals_mask(t);
	case __NR_rt_sigpending:
		return signals_pending(t);
	case __NR_rt_sigsuspend:
	case __NR_ppoll:
	case __NR_pselect6:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_io_pgetevents:
	case __NR_io_uring_enter:
		return signals_wait(t, nr);
	case __NR_sigaltstack:
		return signals_altstack(t);
	case __NR_arch_prctl:
		return do_arch_prctl(t);
	case __NR_rseq:
		return rseq_syscall(t);
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
		schedule_end(t);
		log_ended();
		return rt_syscall(t);
	default:
		if (process_syscall(t, nr, &ret) || descriptor_answers(t, nr, &ret))
			return ret;
		return rt_syscall(t);
	}
}

#define VECTOR_MAX 1024

static void release_vector(uint64_t vector, uint64_t n)
{
	struct {
		uint64_t base, size;
	} v;

	for (uint64_t i = 0; i < n && i < VECTOR_MAX; i++)
		if (rt_copy(&v, (const void *)(vector + i * sizeof(v)), sizeof(v)))
			regions_release(v.base, v.size);
}

static void release_message(uint64_t at)
{
	struct {
		uint64_t name, name_size, vector, n, control, control_size, flags;
	} m;

	if (!rt_copy(&m, (const void *)at, sizeof(m)))
		return;
	regions_release(m.name, m.name_size);
	regions_release(m.control, m.control_size);
	release_vector(m.vector, m.n);
}

static void release_clone(uint64_t at, uint64_t size)
{
	struct clone_args a = { 0 };

	if (!rt_copy(&a, (const void *)at, size < sizeof(a) ? size : sizeof(a)))
		return;
	regions_release(a.pidfd, 4);
	regions_release(a.parent_tid, 4);
	regions_release(a.child_tid, 4);
}

/* Sizes of the object that a system call's argument points to: one word, or the size that the next argument gives. */
static void release_arguments(const uint64_t *r)
{
	const uint64_t a[] = { r[RDI], r[RSI], r[RDX], r[R10], r[R8], r[R9], 0 };

	for (unsigned i = 0; i < 6; i++)
		if (a[i] >= PAGE)
			regions_release(a[i],
					a[i + 1] > 256 && a[i + 1] < 1ul << 40 ? a[i + 1] : 256);
}

/*
 * Unprotects watched pages that the kernel is about to write to. A call that fails because of the
 * protection cannot always be repeated: it may have consumed a child's end, a message or a signal,
 * return less than was asked for, or not fail at all.
 */
static void release_written(const struct thread *t, long nr)
{
	const uint64_t *r = t->regs;

	lock(&cache_lock);
	switch (nr) {
	case __NR_mmap:
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_mremap:
	case __NR_madvise:
	case __NR_write:
	case __NR_pwrite64:
	case __NR_writev:
	case __NR_pwritev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_exit_group:
		break;
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_process_vm_readv:
		release_vector(r[RSI], r[RDX]);
		break;
	case __NR_recvmsg:
		release_message(r[RSI]);
		break;
	case __NR_clone3:
		release_clone(r[RDI], r[RSI]);
		break;
	case __NR_recvmmsg:
	case __NR_process_vm_writev:
		regions_unwatch_all();
		break;
	case __NR_exit:
		regions_release(t->clear_tid, 4);
		break;
	default:
		release_arguments(r);
		break;
	}
	unlock(&cache_lock);
}

/* System calls that old programs make by calling the kernel's vsyscall page. */
bool do_vsyscall(struct thread *t)
{
	static const int calls[] = { __NR_gettimeofday, __NR_time, __NR_getcpu };
	uint64_t at = t->pc - VSYSCALL, back;
	long ret;

	if (at & 1023 || at >= 1024 * 3 ||
	    !rt_copy(&back, (const void *)t->regs[RSP], sizeof(back)))
		return false;
	ret = sys(calls[at / 1024], t->regs[RDI], t->regs[RSI], 0);
	if (ret == -EFAULT)
		return false;
	t->regs[RAX] = (uint64_t)ret;
	t->regs[RSP] += sizeof(back);
	t->pc = back;
	return true;
}

bool do_syscall(struct thread *t)
{
	long nr = (int)t->regs[RAX], ret;

	if (process_refuses_call(t)) {
		if (!signals_raise_call(t, nr)) {
			t->pc -= 2;
			return false;
		}
		t->regs[RCX] = t->pc;
		t->regs[R11] = t->flags;
		return true;
	}
	if (nr == __NR_rt_sigreturn) {
		if (signals_return(t))
			return true;
		t->pc -= 2;
		return false;
	}
	if (regions_any_watched())
		release_written(t, nr);
	ret = intercepted(t, nr);
	if (signals_trapped(t))
		ret = nr;     /* rax keeps the value that the kernel leaves there */
	if (ret == -EFAULT) { /* the kernel met a page that the engine protects */
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
	if (lines_observed())
		lines_syscall(t, nr, t->regs, ret);
	t->regs[RAX] = (uint64_t)ret;
	t->regs[RCX] = t->pc;
	t->regs[R11] = t->flags;
	return true;
}
