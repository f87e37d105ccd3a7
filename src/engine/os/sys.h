/* SPDX-License-Identifier: MIT */
/* The engine's own system calls: no libc in the program's process. Errors are -errno, as from
 * the kernel. */
#ifndef ASSAY_ENGINE_OS_SYS_H
#define ASSAY_ENGINE_OS_SYS_H

#include <asm/unistd.h>

/* the analyzer does not see that the kernel writes to memory that an argument points to */
#ifdef __clang_analyzer__
long sys6(long nr, long a, long b, long c, long d, long e, long f);
#else
static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#endif

#define SYS_PICK(a, b, c, d, e, f, g, n, ...) n
#define SYS_0(nr) sys6(nr, 0, 0, 0, 0, 0, 0)
#define SYS_1(nr, a) sys6(nr, (long)(a), 0, 0, 0, 0, 0)
#define SYS_2(nr, a, b) sys6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS_3(nr, a, b, c) sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS_4(nr, a, b, c, d) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS_5(nr, a, b, c, d, e) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS_6(nr, a, b, c, d, e, f) \
	sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* sys(NR, arguments) */
#define sys(...) \
	SYS_PICK(__VA_ARGS__, SYS_6, SYS_5, SYS_4, SYS_3, SYS_2, SYS_1, SYS_0, )(__VA_ARGS__)

static inline int sys_failed(long r)
{
	return (unsigned long)r > -4096ul;
}

#endif
