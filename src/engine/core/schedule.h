/* SPDX-License-Identifier: MIT */
/* Which parts of the run are observed. */
#ifndef ASSAY_ENGINE_CORE_SCHEDULE_H
#define ASSAY_ENGINE_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

extern bool schedule_on;
extern uint32_t switches; /* how often the schedule has turned between skipping and observing */
void schedule_init(struct thread *t);
void schedule_after_fork(struct thread *t); /* called in the child, with cache_lock held */
/* Called where too few instructions are left in `part` for a block of `weight` instructions,
 * which begins at t->pc. */
void schedule_ask(struct thread *t, unsigned weight, unsigned part);
/* Counts an execution of an instruction whose code is made anew each time. False: the phase has
 * changed, and the block must be looked up again. */
bool schedule_take_one(struct thread *t);
void schedule_thread_end(struct thread *t);
/* Called before the process ends or executes another image. */
void schedule_end(struct thread *t);
uint64_t schedule_position(struct thread *t);
/* Called when blocks are renumbered, so that the recorder takes the process for a new one. */
void schedule_restart(void);

#pragma GCC visibility pop

#endif
