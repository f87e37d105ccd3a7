/* SPDX-License-Identifier: MIT */
/* The marks of touched lines: where they lie, and which were set since they were last reported. */
#ifndef ASSAY_ENGINE_RECORD_MARKS_H
#define ASSAY_ENGINE_RECORD_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/shared.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

extern struct exact_lines lines;
/* How code reaches a thread's marks of blocks: by gs. */
extern bool lines_alone;
/* Reserves memory for marks. `alone`: the only thread, whose marks gs reaches if there is room for
 * that; or NULL. */
void marks_init(const struct thread *alone);
void marks_begin(void);		     /* called when no thread has begun yet */
void marks_thread(struct thread *t); /* gives the thread a plane */
void marks_clear(void);		     /* clears all marks */
void marks_leave(void);		     /* unmaps the marks for good */
/* reports the marked lines to the recorder, and clears the marks: log_touched() */
void marks_tell(void);
/* Reads eight bytes and clears them, while other threads may be setting them. */
uint64_t marks_take(uint64_t *p);
void marks_spread(struct thread *alone); /* moves marks out of gs's reach */
/* Whether the memory holds marks that gs reaches. */
bool marks_stand_alone(uint64_t start, uint64_t n);
/* Marks the lines of that many bytes. Returns how many were not marked before. */
uint64_t marks_set(const struct thread *t, uint64_t addr, uint64_t n);
void marks_unmapped(uint64_t start, uint64_t n);
/* Whether the memory belongs to marks, so that the program may not have it. */
bool marks_in_the_way(uint64_t start, uint64_t n);

#pragma GCC visibility pop

#endif
