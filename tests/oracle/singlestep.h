/* SPDX-License-Identifier: MIT */
/* Single steps of a traced thread that are exact in virtual machines too. */
#ifndef ASSAY_ORACLE_SINGLESTEP_H
#define ASSAY_ORACLE_SINGLESTEP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/user.h>

/*
 * PTRACE_SINGLESTEP, with the signal delivered if it is not 0, for a stopped thread of a process, whose registers are
 * given.
 * Some hypervisors execute CPUID for their guests and lose the trap after that, so that the thread stops one
 * instruction late. The tracer therefore executes CPUID itself, and stops the thread by a SIGTRAP of its own. Returns
 * ptrace's result.
 */
int single_step(pid_t pid, pid_t tid, const struct user_regs_struct *regs, int sig);
/* Whether a SIGTRAP is the one that single_step sends. */
bool single_step_own(const siginfo_t *info);

#endif
