/* SPDX-License-Identifier: MIT */
/* Signals as the program sees them. signals_priv.h says how the engine handles them. */
#ifndef ASSAY_ENGINE_OS_SIGNALS_H
#define ASSAY_ENGINE_OS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/thread.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

void signals_init(void);
/* Called when the program may have more vector state than before (ARCH_REQ_XCOMP_PERM). */
void signals_frame_components(void);
void signals_thread(struct thread *t); /* sets up the thread's alternate stack */
void signals_deliver(struct thread *t);
/* Raises a fault of the program at t->pc that the engine found. False: another signal is delivered
 * first. */
bool signals_raise(struct thread *t, int sig, int code, uint64_t addr);
/* Raises SIGSYS for the system call before t->pc, which is not made. */
bool signals_raise_call(struct thread *t, long nr);
/* Whether a filter has turned the present system call into a signal. */
bool signals_trapped(const struct thread *t);
long signals_action(struct thread *t);
long signals_altstack(struct thread *t);
/* Does rt_sigreturn. False: the call is still to be done, because another signal is delivered
 * first. */
bool signals_return(struct thread *t);
long signals_mask(struct thread *t); /* does rt_sigprocmask */
long signals_pending(struct thread *t);
/* Does a system call that may take a mask for as long as it waits. */
long signals_wait(struct thread *t, long nr);
void signals_before_exec(struct thread *t);
void signals_leave(struct thread *t, sig_set mask) __attribute__((noreturn));
void signals_after_exec(void); /* called when exec failed */
/* Called in a thread with signal handlers of its own, which its clone reset (CLONE_CLEAR_SIGHAND). */
void signals_reset(struct thread *t);
/* Sets the kernel's mask for the engine's own sake. */
void signals_block_all(sig_set *old);
void signals_restore(sig_set old);

#pragma GCC visibility pop

#endif
