/* SPDX-License-Identifier: MIT */
/* Which blocks each interval executes. */
#ifndef ASSAY_ENGINE_RECORD_PHASES_H
#define ASSAY_ENGINE_RECORD_PHASES_H

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

void phases_init(struct thread *t);
void phases_thread(struct thread *t), phases_thread_end(struct thread *t);
void phases_after_fork(struct thread *t); /* called in the child */
/* Called when too little is left in that part of T_LEFT for an execution of that weight. */
void phases_interval(struct thread *t, unsigned weight, unsigned part);
/* Keeps intervals from ending between the two calls. */
void phases_hold(void), phases_release(void);
/* Called between those two calls, and before blocks are numbered anew. */
void phases_restart(void);

#pragma GCC visibility pop

#endif
