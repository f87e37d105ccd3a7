/* SPDX-License-Identifier: MIT */
/*
 * Reuse times of lines, as the sampler sees them: from a touch of a line to the next touch of the same line
 * (docs/methods/reuse.md).
 *
 *   near   within windows: reuse times of their touches, in touches; touches near a window's end are censored
 *   far    by watchpoints (sampler/watches.h): in ns of the thread's CPU time, from one touch of a watched line to
 *          the next, if that was not soon
 *
 * A touch is an access to a line; an instruction that crosses lines touches each. All counts are weighted, in units of
 * 1 / REUSES_UNIT, and add up. model/statstack.h computes miss ratios from both.
 *
 * The times are kept for each process, and separately for the windows that began in each region of REUSES_REGION_BYTES of
 * code: how often a region's code ran is only known once executions are estimated. A process with more than
 * REUSES_REGIONS regions drops those where the fewest windows began, so its regions are a part of the process.
 */
#ifndef ASSAY_OBSERVE_REUSES_H
#define ASSAY_OBSERVE_REUSES_H

#include <stdint.h>

#include "observe/distances.h"
#include "observe/profile.h"
#include "runahead/state.h"

#define REUSES_UNIT 1024
#define REUSES_LINE 64 /* bytes */
#define REUSES_LONG 32 /* touches; far intervals are longer */
/* ns; shorter far intervals are too close to the debug exception, which leaves caches cold */
#define REUSES_SOON_NS 50000
#define REUSES_WORDS 8		  /* words of a line */
#define REUSES_WATCHED 4	  /* words of a line that are watched */
#define REUSES_NEAR (32 + 16 * 6) /* buckets, as in distances: reuse times below 2048 touches */
#define REUSES_TOUCHES (2 * RA_BURST_MAX) /* most touches of a window */
#define REUSES_REGION_BYTES 16
#define REUSES_REGIONS 128	/* regions of a process */
#define REUSES_REGIONS_ALL 2048 /* regions that a recorder keeps */

/* Other counts of watched lines. A visit is a series of touches of a line with at most
 * REUSES_LONG others between two. */
#define REUSES_COUNTS(X) \
	X(watches, "those whose first touch is known to have been followed by another, or by " \
		   "none for long") \
	X(soon, "… followed within REUSES_SOON_NS") \
	X(before, "… whose touch that was picked was not the first of its visit") \
	X(same, "visits after a far time: of a word of the visit before, or of several") \
	X(other, "… of one other word") \
	X(unhit, "watches of lines that were never touched")

struct reuses {	      /* reuse times of a process, or of one of its regions */
	uint64_t key; /* key of a process: run and process */
	uint32_t run, pid;
	struct site_id place;		/* key of a region: the first byte of its code */
	uint64_t windows;		/* windows examined, unweighted */
	uint64_t instructions, touches; /* instructions and touches of these windows */
	uint64_t near_ended[REUSES_NEAR], near_left[REUSES_NEAR];
	uint64_t watched; /* watched lines, unweighted */
	/* sums of squares of each window's contribution to `touches`, and of each line's to
	 * `watches`; 0: not known */
	uint64_t touches_square, watches_square;
#define X(name, what) uint64_t name;
	REUSES_COUNTS(X)
#undef X
	uint64_t far_ended[DISTANCE_BUCKETS], far_left[DISTANCE_BUCKETS];
	struct reuses *regions; /* regions of a process, by place */
	UT_hash_handle hh;
};

/* Finds or makes the process's entry; NULL without memory. */
struct reuses *reuses_get(struct profile *p, uint32_t run, uint32_t pid);
/* The process's entry, or NULL. */
struct reuses *reuses_find(const struct profile *p, uint32_t run, uint32_t pid);
/* The region that contains an instruction. */
struct site_id reuses_place(struct site_id id);
/* The process's region at a place, or NULL. */
struct reuses *reuses_region_find(const struct reuses *u, struct site_id place);
/* Adds a region that does not exist yet; NULL without memory. */
struct reuses *reuses_region_add(struct reuses *u, struct site_id place);
/* Lists the addresses that a window touches, in order, with the first address of each line that
 * an access covers. Returns how many. */
unsigned reuses_touches(const struct window *w, uint64_t at[REUSES_TOUCHES]);
/* Adds the near reuse times of a window. -1 without memory. */
int reuses_window(struct profile *p, const struct window *w, double weight);
/* Converts a weight to units. */
uint64_t reuses_units(double weight);
/* map: images of src to images of dst. */
int reuses_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void reuses_free(struct profile *p);

#endif
