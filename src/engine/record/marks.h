/* SPDX-License-Identifier: MIT */
/* The marks of lines that were touched: where they lie, and what was marked since they were told
 * last. */
#ifndef ASSAY_ENGINE_RECORD_MARKS_H
#define ASSAY_ENGINE_RECORD_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/shared.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

extern struct exact_lines lines;
/* The marks of the blocks that there are, of one thread, are reached by gs. */
extern bool lines_alone;
/* Memory for marks. `alone`: the thread whose marks are reached by gs, if there is room for
 * that; or NULL. */
void marks_init(const struct thread *alone);
void marks_begin(void);		     /* no thread has begun */
void marks_thread(struct thread *t); /* it gets a plane */
void marks_clear(void);		     /* all of them */
void marks_leave(void);		     /* they are unmapped, for good */
void marks_tell(void);		     /* and clears them: log_touched() */
/* Eight bytes: taken, and cleared, while others may be setting them. */
uint64_t marks_take(uint64_t *p);
void marks_spread(struct thread *alone); /* marks are reached by gs no longer */
/* Whether that memory is where those are that are reached by gs. */
bool marks_stand_alone(uint64_t start, uint64_t n);
/* Marks the lines of so many bytes. Returns how many were not marked before. */
uint64_t marks_set(const struct thread *t, uint64_t addr, uint64_t n);
void marks_unmapped(uint64_t start, uint64_t n);
/* Whether the program may not have that memory. */
bool marks_in_the_way(uint64_t start, uint64_t n);

#pragma GCC visibility pop

#endif
