/* SPDX-License-Identifier: MIT */
/*
 * How sites and edges are stored: in blobs, compressed. Each site is
 *
 *   image, address (from the one before, zigzag), class, length, samples, time (its bits), observed, taken,
 *   windows, operands (bits): varints; the target, if the bit behind the operands' is set; then the hot list of each
 *   operand, lowest bit first. If the next bit is set: weights of observations, of branches taken, and their square, eight
 *   bytes each, then for each of these operands 0, or 1 and what its list's occurrences weigh (src/sketch/hot.c). If the
 *   one behind that is set: LOCALITIES, varints; and if the last one is set, too, windows that touched lines there, and of those where
 *   another thread had.
 *
 * and each edge, in blobs of their own: image, address (from the one before, zigzag), image and address (from the
 * former, zigzag) of what it leads to, kind, count.
 *
 * In any order; the first of a blob comes after address 0.
 */
#ifndef ASSAY_STORE_SNAPSHOT_H
#define ASSAY_STORE_SNAPSHOT_H

#include "observe/edges.h"
#include "observe/profile.h"
#include "base/varint.h"

/* Appends one site; *last: the address of the previous site in this blob. False without memory. */
bool snapshot_put(struct buffer *b, const struct site *s, uint64_t *last);
/* Adds the sites of an untrusted blob to p; map[0..nmap) gives the numbers of images. -1 with
 * err set if it is malformed. */
int snapshot_read(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map, size_t nmap,
		  struct err *err);

bool snapshot_put_edge(struct buffer *b, const struct edge *e, uint64_t *last);
int snapshot_read_edges(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map,
			size_t nmap, struct err *err);

#endif
