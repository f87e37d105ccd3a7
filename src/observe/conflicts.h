/* SPDX-License-Identifier: MIT */
/*
 * Conflicts: loads that meet an earlier store of the same thread within a distance of instructions, after the tool vreplay
 * of Burrows et al., "Efficient and flexible value sampling", ASPLOS 2000. Each execution of a load is one of
 *
 *   full      the youngest overlapping store within the distance has all of its bytes, which are forwarded
 *   partial   the youngest overlapping store has some of its bytes: forwarding fails
 *   none      no store overlaps the load
 *
 * and in addition, if a younger store has the same address except for bits 12 and up,
 *
 *   alias     the youngest such store: a CPU that compares 12 bits of addresses makes the load wait for it
 *
 * Judged are instructions with one memory operand (insn.access) that are a load, a store, or both, the load first; not
 * the stack accesses of calls and returns, and no string instructions.
 *
 * A window shows no store before it. So only loads with a whole distance of the window before them are judged, and shares
 * within a load are those of the whole run. In a sampler's windows the distance is at most half of their length.
 */
#ifndef ASSAY_OBSERVE_CONFLICTS_H
#define ASSAY_OBSERVE_CONFLICTS_H

#include "observe/profile.h"

#define CONFLICT_DISTANCE_DEFAULT 128
#define CONFLICT_DISTANCE_MAX 4096
#define CONFLICT_WINDOW 512 /* largest distance, in instructions of a window */

enum conflict_kind {
	CONFLICT_NONE, /* no store: its image and address are 0 */
	CONFLICT_FULL,
	CONFLICT_PARTIAL,
	CONFLICT_ALIAS,
	CONFLICT_KIND_N,
};
extern const char *const conflict_kind_name[CONFLICT_KIND_N];

struct conflict_key {
	struct site_id load, store;
	uint64_t kind; /* enum conflict_kind */
};
struct conflict {
	struct conflict_key key;
	uint64_t count;
	uint64_t distance; /* instructions from store to load (1: adjacent), summed up */
	uint32_t nearest, farthest;
	UT_hash_handle hh;
};

/* The recent stores of a thread, and its position. */
struct conflicts_past {
	uint64_t now;	    /* number of instructions before this one */
	uint64_t since;	    /* position from which on all stores have been seen */
	uint32_t n, oldest; /* number of stores; index of the oldest relevant one */
	uint32_t room;	    /* capacity; a power of two */
	struct conflict_store *store;
	struct conflicts_index *index; /* index for long runs, or NULL */
};

int conflicts_begin(struct conflicts_past *t, unsigned distance); /* Returns -1 without memory. */
void conflicts_end(struct conflicts_past *t);
/* Observes the thread's next instruction. -1 without memory. */
int conflicts_step(struct profile *p, struct conflicts_past *t, const struct retired *r);
/* Advances over instructions without accesses, or with unknown ones. */
void conflicts_skip(struct conflicts_past *t, unsigned n);

int conflicts_window(struct profile *p, const struct window *w);
/* Finds or makes the entry; NULL without memory. */
struct conflict *conflicts_get(struct profile *p, enum conflict_kind kind, struct site_id store,
			       struct site_id load);
/* Adds another recording's counts. */
void conflicts_add(struct conflict *c, uint64_t count, uint64_t distance, uint32_t nearest,
		   uint32_t farthest);
int conflicts_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void conflicts_free(struct profile *p);

#endif
