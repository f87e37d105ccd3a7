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
 *
 * A process has all of them, and once more those of the windows that began in a region: REUSES_REGION_BYTES of code. How
 * often the code of a region ran is not known before the program's executions are estimated; windows only tell how long
 * the region took. Where a process has more than REUSES_REGIONS regions, those where the fewest windows began are
 * dropped, so the regions of a process are a part of it.
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
#define REUSES_REGION_BYTES 16
#define REUSES_REGIONS 128	/* of a process */
#define REUSES_REGIONS_ALL 2048 /* that a recorder keeps */

/* What else is counted of watched lines. A visit: touches of a line with at most REUSES_LONG others between two. */
#define REUSES_COUNTS(X) \
	X(watches, "those whose first touch is known to have been followed by another, or by " \
		   "none for long") \
	X(soon, "… followed within REUSES_SOON_NS") \
	X(before, "… whose touch that was picked was not the first of its visit") \
	X(same, "visits after a far time: of a word of the visit before, or of several") \
	X(other, "… of one other word") \
	X(unhit, "watches of lines that were never touched")

struct reuses {	      /* of a process, or of one of its regions */
	uint64_t key; /* of a process, both: */
	uint32_t run, pid;
	struct site_id place;		/* of a region: the first byte of its code */
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
	struct reuses *regions; /* of a process, by place */
	UT_hash_handle hh;
};

/* The process's, made if new; NULL without memory. */
struct reuses *reuses_get(struct profile *p, uint32_t run, uint32_t pid);
/* The process's if there is one, or NULL. */
struct reuses *reuses_find(const struct profile *p, uint32_t run, uint32_t pid);
/* The region of an instruction. */
struct site_id reuses_place(struct site_id id);
/* The process's region at a place, if there is one, or NULL. */
struct reuses *reuses_region_find(const struct reuses *u, struct site_id place);
/* A region that is not there yet; NULL without memory. */
struct reuses *reuses_region_add(struct reuses *u, struct site_id place);
/* Addresses of the touches of a window, in order; how many. Of an access that crosses lines each line's first. */
unsigned reuses_touches(const struct window *w, uint64_t at[REUSES_TOUCHES]);
/* The near ones of a window. -1 without memory. */
int reuses_window(struct profile *p, const struct window *w, double weight);
/* In units; for what weighs `weight`. */
uint64_t reuses_units(double weight);
/* map: by image of src, that of dst. */
int reuses_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void reuses_free(struct profile *p);

#endif
