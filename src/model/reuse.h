/* SPDX-License-Identifier: MIT */
/*
 * Reuse distances: of each touch of a line, how many different other lines were touched since the line was touched
 * before. It is the line's depth in an LRU stack, so a fully associative LRU cache of n lines hits where it is
 * less than n (Mattson et al., 1970). Exact.
 *
 *   top    the lines touched last, in order: most touches end here, their depth is their place
 *   tree   the others: a bit for each time at which one left the top, in order, and a Fenwick tree of how many
 *          bits words of 64 have. A line's depth is the number of bits behind its own, and the top's size.
 *   table  of each line, when it left the top
 *
 * When times run out they are numbered anew, without gaps. Memory: 24 to 64 bytes for each line ever touched.
 */
#ifndef ASSAY_MODEL_REUSE_H
#define ASSAY_MODEL_REUSE_H

#include <stddef.h>
#include <stdint.h>

#define REUSE_COLD UINT64_MAX	      /* the line was never touched before */
#define REUSE_FAILED (UINT64_MAX - 1) /* no memory */

struct reuse;

struct reuse *reuse_new(void);
void reuse_free(struct reuse *r);
/* Returns the distance of a touch, or one of the above. Lines are numbers below UINT64_MAX. */
uint64_t reuse_touch(struct reuse *r, uint64_t line);
/* Number of different lines touched so far; bytes of memory in use. */
uint64_t reuse_lines(const struct reuse *r);
size_t reuse_memory(const struct reuse *r);

#endif
