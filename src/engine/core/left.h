/* SPDX-License-Identifier: MIT */
/* How many instructions may still be executed before the engine is asked. */
#ifndef ASSAY_ENGINE_CORE_LEFT_H
#define ASSAY_ENGINE_CORE_LEFT_H

#include <stdint.h>

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

struct thread;

/* Grants the thread `room` of them, in parts; `part` gets `weight` at least. */
void left_divide(struct thread *t, uint64_t room, unsigned weight, unsigned part);
/* How many it has executed since; nothing is left to it then. */
uint64_t left_settle(struct thread *t);
void left_clear(struct thread *t);
/* What one thread is granted of that room: with several threads a part of it, and the weight at least. */
uint64_t left_share(uint64_t room, unsigned weight);
/* How much before its end an interval is over: with several threads a 256th of it, so that they need not ask time and
 * again. */
uint64_t left_slack(uint64_t interval, unsigned weight);

#pragma GCC visibility pop

#endif
