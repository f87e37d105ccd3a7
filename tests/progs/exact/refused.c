/* SPDX-License-Identifier: MIT */
/*
 * System calls that are refused, or become signals: what the program restricts, and what it emulates.
 */
#include "cases.h"
#include "children.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* Processes that restrict their system calls, and run code that they have not run before. */
static unsigned after_restriction(unsigned n)
{
	return n < 2 ? n : after_restriction(n - 1) + after_restriction(n - 2);
}

CASE(seccomp_strict)
{
	int child = fork();

	if (!child) {
		prctl(PR_SET_SECCOMP, 1);
		if (write(1, "only write\n", 11) == 11)
			syscall(SYS_exit, after_restriction(12) & 127);
	}
	reap(child);
}

static volatile sig_atomic_t refused_call;
static void on_refused(int number, siginfo_t *info, void *context)
{
	(void)number;
	refused_call = info->si_syscall;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = (int)(-EDOM);
}

/* Of all system calls, those that are needed to say so; others are what `others` says. */
static void restrict_calls(uint32_t others)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, others),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof f / sizeof *f, f };

	EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void restricted(uint32_t others)
{
	int child = fork();

	if (!child) {
		struct sigaction a = { .sa_sigaction = on_refused,
				       .sa_flags = SA_SIGINFO | SA_ONSTACK };
		static char stack[65536];
		stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
		double product = 3;
		long result;

		sigaltstack(&alternate, NULL);
		sigaction(SIGSYS, &a, NULL);
		__asm__ volatile("" : "+x"(product)); /* vector registers are kept */
		restrict_calls(others);
		__asm__ volatile("mulsd %0, %0" : "+x"(product));
		errno = 0;
		result = syscall(SYS_getppid);
		printf("%d %d, %d refused, %g\n", result > 0, errno, (int)refused_call, product);
		syscall(SYS_exit, after_restriction(12) & 127);
	}
	reap(child);
}

CASE(seccomp_refuses)
{
	restricted(SECCOMP_RET_ERRNO | EPERM);
}

CASE(seccomp_traps)
{
	restricted(SECCOMP_RET_TRAP);
}

CASE(seccomp_kills)
{
	restricted(SECCOMP_RET_KILL_PROCESS);
}

/* A filter that makes some system calls signals: where those say that the call was. */
extern const char trapped_end[];
NOINLINE static long trapped_call(long nr)
{
	long result;

	__asm__ volatile("syscall\n.globl trapped_end\ntrapped_end:"
			 : "=a"(result)
			 : "a"(nr), "D"(0), "S"(0), "d"(0)
			 : "rcx", "r11", "memory");
	return result;
}

static void on_trapped(int number, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	printf("signal %d, code %d, call %d, arch %x, errno %d\n", number, info->si_code,
	       info->si_syscall, info->si_arch, info->si_errno);
	printf("called at %ld, goes on at %ld, rax %lld\n",
	       (long)((const char *)info->si_call_addr - trapped_end),
	       (long)((const char *)r[REG_RIP] - trapped_end), r[REG_RAX]);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EDOM;
}

static void trap_calls(void)
{
	struct sigaction a = { .sa_sigaction = on_trapped, .sa_flags = SA_SIGINFO };
	static const int calls[] = { SYS_getppid,  SYS_munmap,	 SYS_madvise,
				     SYS_readlink, SYS_mprotect, SYS_close };
	struct sock_filter f[16];
	unsigned n = 0, count = sizeof calls / sizeof *calls;
	struct sock_fprog program = { .filter = f };

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
						      (unsigned char)(count - i), 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 7);
	program.len = (unsigned short)n;
	sigaction(SIGSYS, &a, NULL);
	EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	for (unsigned i = 0; i < count; i++)
		printf("%ld\n", trapped_call(calls[i]));
}

CASE(trapped_calls)
{
	int child = fork();

	if (!child) {
		trap_calls();
		syscall(SYS_exit_group, 0);
	}
	reap(child);
}

static void *wait_for_end(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

/* The engine stays in a process of several threads. */
CASE(trapped_calls_beside_thread)
{
	int child = fork();

	if (!child) {
		pthread_t t;

		EQ(pthread_create(&t, NULL, wait_for_end, NULL), 0);
		trap_calls();
		syscall(SYS_exit_group, 0);
	}
	reap(child);
}

#define EMULATED 0x12345678 /* no process has that number */
static volatile char selector;
static volatile int emulated_call, emulated_code;

static void on_emulated(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number;
	selector = 0;
	emulated_call = info->si_syscall;
	emulated_code = info->si_code;
	EQ(c->uc_mcontext.gregs[REG_RAX], SYS_getppid);
	EQ(info->si_call_addr, c->uc_mcontext.gregs[REG_RIP]);
	EQ(info->si_arch, 0xc000003e);
	c->uc_mcontext.gregs[REG_RAX] = EMULATED;
}

/* System calls that the program emulates: prctl(PR_SET_SYSCALL_USER_DISPATCH). */
CASE(emulated_calls)
{
	struct sigaction a = { .sa_sigaction = on_emulated, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &a, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector)) {
		printf("%d\n", errno);
		return;
	}
	for (int i = 0; i < 100; i++) {
		selector = 1;
		EQ(syscall(SYS_getppid), EMULATED);
		EQ(emulated_call, SYS_getppid);
		CHECK(syscall(SYS_getppid) != EMULATED);
	}
	printf("%d\n", emulated_code);
	EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, -4096l), -1);
	EQ(errno, EFAULT);
	EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0), 0);
	selector = 1;
	CHECK(syscall(SYS_getppid) != EMULATED);
}
