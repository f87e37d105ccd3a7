/* SPDX-License-Identifier: MIT */
/* How many instructions may still be executed before the engine is asked. */
#ifndef ASSAY_ENGINE_CORE_LEFT_H
#define ASSAY_ENGINE_CORE_LEFT_H

#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

/* Grants the thread `room` instructions, divided among its parts; `part` gets at least `weight`. */
void left_divide(struct thread *t, uint64_t room, unsigned weight, unsigned part);
/* Returns how many instructions the thread has executed since, and takes the rest of its grant
 * away. */
uint64_t left_settle(struct thread *t);
void left_clear(struct thread *t);
/* Returns how much of `room` one thread is granted: all of it, or a part if there are several
 * threads; at least `weight`. */
uint64_t left_share(uint64_t room, unsigned weight);
/* Returns how many instructions before its end an interval counts as over: with several threads a
 * 256th of it, so that threads do not ask for ever smaller grants. */
uint64_t left_slack(uint64_t interval, unsigned weight);

#pragma GCC visibility pop

#endif
