/* SPDX-License-Identifier: MIT */
/* System calls that the engine takes part in. */
#ifndef ASSAY_ENGINE_OS_SYSCALLS_H
#define ASSAY_ENGINE_OS_SYSCALLS_H

#include <stdbool.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

/* Does the system call in t->regs; t->pc is after the instruction. False: the call is still to be
 * done, and t->pc is at the instruction. */
bool do_syscall(struct thread *t);
/* Does the system call at t->pc, in the kernel's vsyscall page, which cannot be read. False: there
 * is no such call, or it faults. */
#define VSYSCALL 0xffffffffff600000
bool do_vsyscall(struct thread *t);

#pragma GCC visibility pop

#endif
