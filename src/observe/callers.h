/* SPDX-License-Identifier: MIT */
/*
 * Values by caller: the values that an operand of an instruction had while its procedure was called from one place. They are
 * observed in windows whose samples have a call stack: the stack says who called the procedure that the window begins in, and
 * the window's own calls and returns say who called the rest.
 *
 * Where a table is full, pairs of instruction and caller that the fewest windows saw are forgotten.
 */
#ifndef ASSAY_OBSERVE_CALLERS_H
#define ASSAY_OBSERVE_CALLERS_H

#include "observe/profile.h"

#define CALLERS_MAX 65536  /* pairs of instruction and caller, at most */
#define CALLERS_CAPACITY 8 /* capacity of each hot list */
#define CALLERS_EVERY 4	   /* one window in this number is observed, because of the cost */
#define CALLERS_DEPTH 64   /* open calls of a window that are remembered, at most; a power of two */

struct caller_key {
	struct site_id site;
	struct site_id caller; /* where the call returns to */
};

struct caller {
	struct caller_key key;
	uint64_t observed, windows;
	uint64_t seen;	 /* private: the last window that observed the pair */
	union lists hot; /* private, with `lists`: see caller_hot() */
	uint16_t lists;	 /* a bit for each enum operand */
};

/* The pairs of a profile, in the order in which they were met. */
struct callers {
	struct caller *v;
	size_t n, room;
	/* private: number + 1, or 0; linear probing; at least half of the slots are free */
	uint32_t *slot;
	unsigned bits; /* there are 1 << bits slots; 0: none */
};

/* The operand's hot list. NULL: it was never observed. */
static inline struct hot *caller_hot(const struct caller *c, int operand)
{
	return lists_get(c->hot, c->lists, operand);
}
/* The place of the operand's hot list, which is NULL if there is none; making another list may move it. NULL: no
 * memory. */
struct hot **caller_operand(struct caller *c, int operand);
/* The number of pairs. */
size_t callers_count(const struct profile *p);
/* NULL if the pair is not there. */
struct caller *callers_find(const struct profile *p, const struct caller_key *key);
/* Finds or makes the pair; NULL without memory, or when there are CALLERS_MAX. It is valid until another one is made. */
struct caller *callers_get(struct profile *p, const struct caller_key *key);
/* Observes the window, which has a stack. -1 without memory. */
int callers_window(struct profile *p, const struct window *w);
int callers_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void callers_free(struct profile *p);

#endif
