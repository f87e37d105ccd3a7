/* SPDX-License-Identifier: MIT */
/*
 * Reuse times of lines, as the sampler sees them: from a touch of a line to the next one of the same line.
 *
 *   near   within windows: of each of their touches, in touches. Those of the window's end are left alive.
 *   far    by watchpoints (sampler/watches.h): in ns of the thread's CPU time, from one touch of a watched line to
 *          the next one, if it was not soon
 *
 * A touch is an access to a line: an instruction that crosses lines touches each. All counts are weighed, in units
 * of 1 / REUSES_UNIT, and add up. How long ones are made of both: model/statstack.h.
 */
#ifndef ASSAY_OBSERVE_REUSES_H
#define ASSAY_OBSERVE_REUSES_H

#include <stdint.h>

#include "observe/distances.h"
#include "observe/profile.h"
#include "runahead/state.h"

#define REUSES_UNIT 1024
#define REUSES_LINE 64 /* bytes */
#define REUSES_LONG 32 /* touches: far ones are longer */
#define REUSES_SOON_NS \
	50000 /* far ones that are shorter are too near to the exception, which leaves caches cold */
#define REUSES_WORDS 8		  /* of a line */
#define REUSES_WATCHED 4	  /* of these */
#define REUSES_NEAR (32 + 16 * 6) /* buckets, as of distances: reuse times below 2048 touches */
#define REUSES_TOUCHES (2 * RA_BURST_MAX) /* of a window, at most */

/* What else is counted of watched lines. A visit: touches of a line with at most REUSES_LONG others between two. */
#define REUSES_COUNTS(X) \
	X(watches, "those whose first touch is known to have been followed by another, or by " \
		   "none for long") \
	X(soon, "… followed within REUSES_SOON_NS") \
	X(before, "… whose touch that was picked was not the first of its visit") \
	X(same, "visits after a far time: of a word of the visit before, or of several") \
	X(other, "… of one other word") \
	X(unhit, "watches of lines that were never touched")

struct reuses {	      /* of a process */
	uint64_t key; /* of both: */
	uint32_t run, pid;
	uint64_t windows;		/* walked, as they are */
	uint64_t instructions, touches; /* of these */
	uint64_t near_ended[REUSES_NEAR], near_left[REUSES_NEAR];
	uint64_t watched; /* lines, as they are */
	/* sums of squares, of what each window has in `touches`, each line in `watches`; 0: not known */
	uint64_t touches_square, watches_square;
#define X(name, what) uint64_t name;
	REUSES_COUNTS(X)
#undef X
	uint64_t far_ended[DISTANCE_BUCKETS], far_left[DISTANCE_BUCKETS];
	UT_hash_handle hh;
};

/* The process's, made if new; NULL without memory. */
struct reuses *reuses_get(struct profile *p, uint32_t run, uint32_t pid);
/* Addresses of the touches of a window, in order; how many. Of an access that crosses lines each line's first. */
unsigned reuses_touches(const struct window *w, uint64_t at[REUSES_TOUCHES]);
/* The near ones of a window. -1 without memory. */
int reuses_window(struct profile *p, const struct window *w, double weight);
/* In units; for what weighs `weight`. */
uint64_t reuses_units(double weight);
int reuses_merge(struct profile *dst, const struct profile *src);
void reuses_free(struct profile *p);

#endif
