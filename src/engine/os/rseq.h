/* SPDX-License-Identifier: MIT */
/* Restartable sequences. */
#ifndef ASSAY_ENGINE_OS_RSEQ_H
#define ASSAY_ENGINE_OS_RSEQ_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

void rseq_thread(struct thread *t); /* it has none registered */
long rseq_syscall(struct thread *t);
/* Outside of the cache: a thread that was interrupted in a section goes on at the section's
 * handler. Returns whether. */
bool rseq_check(struct thread *t);
/* The fault at pc is not to be told of: the section may have been interrupted before, and is
 * aborted. */
bool rseq_excuses(struct thread *t, uint64_t pc, uint64_t addr);
/* Whether the kernel, or a check, has sent the thread to the abort of a block's guard: the place in the cache that it was at
 * before, whose rax and rcx are aside; or 0. */
uint64_t rseq_aborted(uint64_t at);

#pragma GCC visibility pop

#endif
