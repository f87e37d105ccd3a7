/* SPDX-License-Identifier: MIT */
#include "oracle/singlestep.h"

#include <cpuid.h>
#include <errno.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUID_CODE 0xa20f
#define CPUID_SIZE 2
#define MAGIC 0x7374657035ull /* the value of the tracer's own signals */

bool single_step_own(const siginfo_t *info)
{
	return info->si_signo == SIGTRAP && info->si_code == SI_QUEUE &&
	       (uint64_t)info->si_value.sival_ptr == MAGIC;
}

static bool is_at_cpuid(pid_t tid, const struct user_regs_struct *regs)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, tid, (void *)regs->rip, NULL);
	return !errno && (word & 0xffff) == CPUID_CODE;
}

static int step_cpuid(pid_t pid, pid_t tid, const struct user_regs_struct *regs)
{
	struct user_regs_struct r = *regs;
	siginfo_t info = { .si_signo = SIGTRAP, .si_code = SI_QUEUE };
	unsigned a, b, c, d;

	info.si_pid = getpid();
	info.si_value.sival_ptr = (void *)MAGIC;
	__cpuid_count((unsigned)r.rax, (unsigned)r.rcx, a, b, c, d);
	r.rax = a;
	r.rbx = b;
	r.rcx = c;
	r.rdx = d;
	r.rip += CPUID_SIZE;
	if (ptrace(PTRACE_SETREGS, tid, 0, &r) ||
	    syscall(SYS_rt_tgsigqueueinfo, (long)pid, (long)tid, SIGTRAP, &info))
		return -1;
	return (int)ptrace(PTRACE_CONT, tid, 0, 0);
}

int single_step(pid_t pid, pid_t tid, const struct user_regs_struct *regs, int sig)
{
	if (!sig && is_at_cpuid(tid, regs))
		return step_cpuid(pid, tid, regs);
	return (int)ptrace(PTRACE_SINGLESTEP, tid, 0, sig);
}
