/* SPDX-License-Identifier: MIT */
/*
 * Reuse distances: for each touch of a line, the number of different other lines touched since its last touch. That is
 * the line's depth in an LRU stack, so a fully associative LRU cache of n lines hits where it is less than n (Mattson et
 * al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970). The distances are exact.
 *
 *   top    the lines touched last, in order: most touches end here, where the position is the depth
 *   tree   the other lines: one bit for each time at which a line left the top, in order, and a Fenwick tree of the
 *          bits in each word of 64. A line's depth is the number of bits after its own, plus the size of the top.
 *   table  when each line left the top
 *
 * When times run out they are renumbered without gaps. Memory: 24 to 64 bytes for each line ever touched.
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
