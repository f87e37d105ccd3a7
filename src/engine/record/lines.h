/* SPDX-License-Identifier: MIT */
/* Which lines of memory are touched. */
#ifndef ASSAY_ENGINE_RECORD_LINES_H
#define ASSAY_ENGINE_RECORD_LINES_H

#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

void lines_init(struct thread *t);
void lines_thread(struct thread *t);	 /* a new one begins */
void lines_thread_end(struct thread *t); /* it ends */
void lines_ran(struct thread *t, uint32_t block);
void lines_after_fork(struct thread *t); /* in the child */
/* There is not enough left in that part for an execution of that weight. */
void lines_interval(struct thread *t, unsigned weight, unsigned part);
/* No snapshot is made between. */
void lines_hold(void), lines_release(void);
/* Between those, before blocks are numbered anew: those that ran are told. */
void lines_restart(void);
/* The last snapshot, before the process ends or executes another image. */
void lines_end(struct thread *t);
#define NO_BLOCK ~0u
void lines_later(struct thread *t, uint32_t block); /* what T_LATER says; of a block, or of none */
void lines_syscall(struct thread *t, long nr, const uint64_t *regs, long ret);
/* Around a change of mappings: between, nobody else changes any. */
void lines_mapping_begin(void), lines_mapping_end(void);
/* There is going to be another thread, or the program wants the memory where they are: no
 * longer. */
void lines_join(struct thread *t);
/* Moves the marks away if the program wants their memory and may have it. */
void lines_give_way(struct thread *t, uint64_t start, uint64_t n);

#pragma GCC visibility pop

#endif
