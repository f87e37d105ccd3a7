/* SPDX-License-Identifier: MIT */
/*
 * Edges: transfers of control that the instruction alone does not determine.
 *
 * A site's counts and its target (profile.h) describe most transfers: a branch went to its target `taken` times, else it
 * fell through; a direct jump or call went to its target; all other instructions except indirect jumps, calls and returns
 * fell through. Edges hold the rest:
 *
 *   EDGE_WENT    `from` was executed, then control went to `to`: indirect jumps and calls, returns; system calls that
 *                did not fall through; direct transfers to another image
 *   EDGE_CAME    control was about to execute `from`, and went to `to` instead: a signal's handler
 *
 * EDGE_OUTSIDE, the first or the second of a pair, stands for everything that is not observed, where threads begin and
 * end. So each instruction is entered as often as it is executed (or interrupted), and left as often.
 */
#ifndef ASSAY_OBSERVE_EDGES_H
#define ASSAY_OBSERVE_EDGES_H

#include "observe/profile.h"

enum edge_kind {
	EDGE_WENT,
	EDGE_CAME,
	EDGE_KIND_N,
};

struct edge_key {
	struct site_id from, to;
	uint64_t kind; /* enum edge_kind */
};
struct edge {
	struct edge_key key;
	uint64_t count;
	UT_hash_handle hh;
};

/* a place that is not observed: image 0, "[unknown]" */
#define EDGE_OUTSIDE ((struct site_id){ 0 })

/* Finds or makes the edge; NULL without memory. It never moves. */
struct edge *edges_get(struct profile *p, enum edge_kind kind, struct site_id from,
		       struct site_id to);
/* Adds n to an edge. -1 without memory. */
int edges_add(struct profile *p, enum edge_kind kind, struct site_id from, struct site_id to,
	      uint64_t n);
/* Adds the edges of a window, and the targets of its direct transfers. */
int edges_window(struct profile *p, const struct window *w);
/* dst += src; map: src's image numbers to dst's. */
int edges_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void edges_free(struct profile *p);

/* Returns all edges sorted by key, *n of them; to be freed. NULL without memory. */
const struct edge **edges_sorted(const struct profile *p, size_t *n);

/* Whether control falls through unless a site's counts, its target or its edges say otherwise. */
bool edges_falls(int cls);
/* Whether each execution adds an edge to its target. */
bool edges_is_indirect(int cls);

#endif
