/* SPDX-License-Identifier: MIT */
/* Which parts of the run are observed. */
#ifndef ASSAY_ENGINE_CORE_SCHEDULE_H
#define ASSAY_ENGINE_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

struct thread;

extern bool schedule_on;
extern uint32_t switches; /* between skipping and observing */
void schedule_init(struct thread *t);
void schedule_after_fork(struct thread *t); /* in the child, with cache_lock held */
/* There is not enough left in that part for an execution of that weight. t->pc is where it begins. */
void schedule_ask(struct thread *t, unsigned weight, unsigned part);
/* Code that is made anew each time is about to execute an instruction. False: look for the block again. */
bool schedule_take_one(struct thread *t);
void schedule_thread_end(struct thread *t);
/* The process ends, or executes another image. */
void schedule_end(struct thread *t);
uint64_t schedule_position(struct thread *t);
/* Blocks are numbered anew: the recorder knows nothing of this process. */
void schedule_restart(void);

#pragma GCC visibility pop

#endif
