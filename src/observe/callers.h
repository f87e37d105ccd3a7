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
	uint64_t seen;		      /* private: the last window that observed the pair */
	struct hot *value[OPERAND_N]; /* hot list of each operand; NULL: it was never observed */
	UT_hash_handle hh;
};

/* Finds or makes the pair; NULL without memory, or when there are CALLERS_MAX. */
struct caller *callers_get(struct profile *p, const struct caller_key *key);
/* Observes the window, which has a stack. -1 without memory. */
int callers_window(struct profile *p, const struct window *w);
int callers_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void callers_free(struct profile *p);

#endif
