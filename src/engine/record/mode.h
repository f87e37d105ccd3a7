/* SPDX-License-Identifier: MIT */
/* What code that is being translated observes. */
#ifndef ASSAY_ENGINE_RECORD_MODE_H
#define ASSAY_ENGINE_RECORD_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/schedule.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/phases.h"
#include "engine/record/warm.h"
#include "engine/shared.h"

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct thread;

/* The part of T_REST that a block or a link to it subtracts from, by the block's number in the cache. */
static inline unsigned rest_part(uint32_t number)
{
	return number & (LEFT_PARTS - 1);
}

/* The part of T_LEFT that a block subtracts from. */
static inline unsigned left_part(uint32_t number)
{
	return left_whole ? 0 : number & (LEFT_PARTS - 1);
}

static inline bool counting(void)
{
	return log_mode & EXACT_COUNTS;
}

static inline bool skipping(void)
{
	return log_mode & MODE_SKIPPING;
}

static inline bool coarse(void)
{
	return log_mode & MODE_COARSE;
}

/* Whether the code marks lines: for working sets, or, where the schedule skips, to warm up caches. */
static inline bool lines_on(void)
{
	return log_mode & EXACT_LINES;
}

/* Whether working sets are observed. */
static inline bool lines_observed(void)
{
	return log_observed & EXACT_LINES;
}

/* Whether there is memory for marks, which the program must not have. */
static inline bool marks_kept(void)
{
	return lines_observed() || warming;
}

static inline bool phases_on(void)
{
	return log_mode & EXACT_PHASES;
}

/* Whether blocks subtract from T_LEFT, and leave the cache where too little is left. */
static inline bool intervals_on(void)
{
	return log_mode & (EXACT_LINES | EXACT_PHASES);
}

static inline void interval_over(struct thread *t, unsigned weight, unsigned part)
{
	if (schedule_on)
		schedule_ask(t, weight, part);
	else if (lines_on())
		lines_interval(t, weight, part);
	else
		phases_interval(t, weight, part);
}

#pragma GCC visibility pop

#endif
