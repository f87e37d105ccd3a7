/* SPDX-License-Identifier: MIT */
/*
 * The blocks that a process executes over time: how many instructions of each basic block each interval executed.
 *
 *   phases ─┬─ blocks     image, address, number of instructions; numbered from 0
 *           └─ intervals  in order, without gaps, from the process's first instruction on: a sparse vector each
 *
 * A vector is a list of parts in order of block: the difference of the block's number to the previous one (in the first
 * part the number itself), and its instructions, as varints. The sum of the parts is the interval's length. The engine
 * ends intervals at the requested length, at the end of a block. If there would be more than `max` intervals, neighbours
 * are merged, and later intervals are collected until they are as long.
 *
 * A process that executes another image continues; a forked child begins with what it executes itself. An interval of a
 * process with threads has what all of them executed.
 */
#ifndef ASSAY_OBSERVE_PHASES_H
#define ASSAY_OBSERVE_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct phase_block {
	uint32_t image;
	uint32_t n; /* number of instructions */
	uint64_t addr;
};

struct phase_interval {
	uint64_t start, end; /* position in instructions since the process began */
	uint8_t *vector;
	size_t size;
};

struct phases {
	uint32_t run, process; /* numbers in the recording */
	uint32_t pid, parent;  /* parent: the process that forked it; 0: not known */
	uint32_t max;
	uint64_t wanted;   /* initial length of an interval; it doubles with each halving */
	unsigned halvings; /* private */
	struct phase_block *block;
	size_t nblock;
	struct phase_interval *interval;
	size_t ninterval;
	struct phase_key *keys; /* private */
};

struct phase_part {
	uint32_t block;
	uint64_t instructions;
};

#define PHASES_BLOCKS_MAX (1u << 24)

struct phases *phases_new(void);
void phases_free(struct phases *p);
/* Makes an empty one equal to another, with images mapped by `map`. -1 without memory. */
int phases_copy(struct phases *to, const struct phases *from, const uint32_t *map);
/* Finds or makes the block's number. -1 without memory or room. */
long phases_block(struct phases *p, uint32_t image, uint64_t addr, uint32_t n);
/* Adds an interval; its parts are sorted by block, and none is 0. Halves the number of intervals
 * when there are `max`. */
int phases_add(struct phases *p, const struct phase_part *part, size_t n, struct err *err);
/* Takes back the latest instructions of the block, which were reported but not executed. */
int phases_take_off(struct phases *p, uint32_t block, uint64_t n, struct err *err);
/* Adds an interval in packed form, which is copied. Returns NULL, or what is wrong with it. */
const char *phases_add_packed(struct phases *p, const uint8_t *vector, size_t size);

/* Iterates over a vector: its unread rest, and the last part read. */
struct phases_walk {
	const uint8_t *at, *end;
	struct phase_part part;
};
struct phases_walk phases_walk(const struct phase_interval *i);
bool phases_next(struct phases_walk *w);

static inline uint64_t phases_instructions(const struct phases *p)
{
	return p->ninterval ? p->interval[p->ninterval - 1].end : 0;
}

#endif
