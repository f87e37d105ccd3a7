/* SPDX-License-Identifier: MIT */
/* Restartable sequences. */
#ifndef ASSAY_ENGINE_OS_RSEQ_H
#define ASSAY_ENGINE_OS_RSEQ_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

void rseq_thread(struct thread *t); /* called for a thread without a registered area */
long rseq_syscall(struct thread *t);
/* Sends a thread that was interrupted in a sequence, and is outside the cache, to the sequence's
 * handler. Returns whether it was. */
bool rseq_check(struct thread *t);
/* Whether the fault at pc is to be withheld from the program, because the sequence may have been
 * interrupted before the fault, and is aborted. */
bool rseq_excuses(struct thread *t, uint64_t pc, uint64_t addr);
/* If the kernel, or a check, has sent the thread to the abort of a block's guard: returns the place
 * in the cache where the thread was before, whose rax and rcx are saved. Otherwise 0. */
uint64_t rseq_aborted(uint64_t at);

#pragma GCC visibility pop

#endif
