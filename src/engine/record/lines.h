/* SPDX-License-Identifier: MIT */
/* Which lines of memory are touched. */
#ifndef ASSAY_ENGINE_RECORD_LINES_H
#define ASSAY_ENGINE_RECORD_LINES_H

#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

void lines_init(struct thread *t);
void lines_thread(struct thread *t);	 /* called when a thread begins */
void lines_thread_end(struct thread *t); /* called when a thread ends */
void lines_ran(struct thread *t, uint32_t block);
void lines_after_fork(struct thread *t); /* called in the child */
/* Called when too little is left in that part of T_LEFT for an execution of that weight. */
void lines_interval(struct thread *t, unsigned weight, unsigned part);
/* Keeps snapshots from being made between the two calls. */
void lines_hold(void), lines_release(void);
/* Tells the recorder which blocks ran. Called between those two calls, and before blocks are
 * renumbered. */
void lines_restart(void);
/* Makes the last snapshot, before the process ends or executes another image. */
void lines_end(struct thread *t);
#define NO_BLOCK ~0u
/* marks the lines that T_LATER describes, for a block, or for none */
void lines_later(struct thread *t, uint32_t block);
void lines_syscall(struct thread *t, long nr, const uint64_t *regs, long ret);
/* Called around a change of mappings: no other thread changes any between the two calls. */
void lines_mapping_begin(void), lines_mapping_end(void);
/* Called when another thread begins, or when the program wants the memory of the marks: gs no
 * longer reaches them. */
void lines_join(struct thread *t);
/* Moves the marks away if the program wants their memory and may have it. */
void lines_give_way(struct thread *t, uint64_t start, uint64_t n);

#pragma GCC visibility pop

#endif
