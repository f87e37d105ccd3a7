/* SPDX-License-Identifier: MIT */
/*
 * How sites and edges are stored: in blobs of columns (base/columns.h), compressed. The columns of sites are those of
 * SITE_COLUMNS; a site has a number in some of them only:
 *
 *   target                                  if the bit behind those of the operands is set in `operands`
 *   the hot list of each operand            lowest bit first, in columns of its own (src/sketch/hot_bytes.c)
 *   weights, of observations, of branches   if the next bit is set: the upper four bytes of each
 *     taken, and the sum of squares
 *   LOCALITIES                              if the one behind that is set
 *   windows that touched lines there, and   if the last one is set, too
 *     of those where another thread had
 *
 * and the columns of edges: image, address (from the one before, zigzag), image and address (from the former, zigzag) of
 * what it leads to, kind, count.
 *
 * In any order; the first of a blob comes after address 0.
 */
#ifndef ASSAY_STORE_SNAPSHOT_H
#define ASSAY_STORE_SNAPSHOT_H

#include "base/columns.h"
#include "observe/edges.h"
#include "observe/profile.h"
#include "store/times.h"

#define SITE_COLUMNS(X) \
	X(IMAGE, "image") \
	X(ADDRESS, "address, from that of the site before, zigzag") \
	X(CLASS, "class") \
	X(LENGTH, "length") \
	X(SAMPLES, "samples") \
	X(TIME, "time (store/times.h)") \
	X(OBSERVED, "observations") \
	X(TAKEN, "of these, branches taken") \
	X(REPEATED, "observations less windows") \
	X(OPERANDS, "a bit for each operand with a list, and those said above") \
	X(TARGET, "target, from the address, zigzag")

/* Sites, or edges, of one blob. */
struct snapshot {
	struct columns columns;
	uint64_t last; /* address of the one before */
	struct times times;
	enum hot_extent extent; /* of lists of values */
};

void snapshot_begin_sites(struct snapshot *s, enum hot_extent extent);
void snapshot_begin_edges(struct snapshot *s);
/* Adds one site. False without memory. */
bool snapshot_put(struct snapshot *to, const struct site *s);
bool snapshot_put_edge(struct snapshot *to, const struct edge *e);
/* What is added next is in another blob; the columns of the one before have been taken. */
void snapshot_next(struct snapshot *s);

/* Adds the sites of an untrusted blob to p; map[0..nmap) gives the numbers of images. -1 with
 * err set if it is malformed. */
int snapshot_read(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map, size_t nmap,
		  struct err *err);
int snapshot_read_edges(const uint8_t *p, size_t n, struct profile *to, const uint32_t *map,
			size_t nmap, struct err *err);

#endif
