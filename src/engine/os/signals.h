/* SPDX-License-Identifier: MIT */
/* Signals as the program sees them. */
#ifndef ASSAY_ENGINE_OS_SIGNALS_H
#define ASSAY_ENGINE_OS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/thread.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

void signals_init(void);
void signals_thread(struct thread *t); /* its alternate stack */
void signals_deliver(struct thread *t);
/* A fault of the program at t->pc, found by the engine. False: another signal goes first. */
bool signals_raise(struct thread *t, int sig, int code, uint64_t addr);
/* SIGSYS for the system call before t->pc, which is not made. */
bool signals_raise_call(struct thread *t, long nr);
/* A filter has made the system call that is being done a signal. */
bool signals_trapped(const struct thread *t);
long signals_action(struct thread *t);
long signals_altstack(struct thread *t);
/* rt_sigreturn. False: it is still to be done, another signal goes first. */
bool signals_return(struct thread *t);
long signals_mask(struct thread *t); /* rt_sigprocmask */
long signals_pending(struct thread *t);
/* A system call that may take a mask for as long as it waits. */
long signals_wait(struct thread *t, long nr);
void signals_before_exec(struct thread *t);
void signals_leave(struct thread *t, sig_set mask) __attribute__((noreturn));
void signals_after_exec(void); /* it failed */
/* In a thread with handlers of its own, whose clone reset them (CLONE_CLEAR_SIGHAND). */
void signals_reset(struct thread *t);
/* The kernel's mask, for the engine's own sake. */
void signals_block_all(sig_set *old);
void signals_restore(sig_set old);

#pragma GCC visibility pop

#endif
