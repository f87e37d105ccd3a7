/* SPDX-License-Identifier: MIT */
/*
 * The bases of the segments fs and gs. Linux lets programs read and write them by instructions since 5.9 where the CPU
 * can (FSGSBASE); some virtual machines do not offer that. There a system call writes them, and the engine follows the
 * program's own calls to know the base of fs.
 */
#include <asm/prctl.h>

#include "engine/core/thread.h"
#include "engine/os/sys.h"
#include "engine/os/util.h"

bool has_fsgsbase = true;

uint64_t fs_base(const struct thread *t)
{
	uint64_t v;

	if (!has_fsgsbase)
		return t->fs_base;
	__asm__ volatile("rdfsbase %0" : "=r"(v));
	return v;
}

static void set(int which, uint64_t v)
{
	if (sys_failed(sys(__NR_arch_prctl, which, v)))
		die("cannot set the base of a segment to %lx", v);
}

void set_fs_base(uint64_t v)
{
	if (has_fsgsbase)
		__asm__ volatile("wrfsbase %0" ::"r"(v));
	else
		set(ARCH_SET_FS, v);
}

void set_gs_base(uint64_t v)
{
	if (has_fsgsbase)
		__asm__ volatile("wrgsbase %0" ::"r"(v));
	else
		set(ARCH_SET_GS, v);
}
