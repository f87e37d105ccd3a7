/* SPDX-License-Identifier: MIT */
/*
 * Hardware watchpoints on words that sampled threads touched, for reuse times longer than a window.
 *
 *   pick    a long window, of which a touch is drawn: of those after which REUSES_LONG others came before the next one of
 *           their line. Each begins a far reuse time, and all are equally likely.
 *   watch   the aligned word that it touched, and others of the line, as many as there are debug registers, for its
 *           thread. They are set some time after the touch: what came between is not known. So time runs from the first
 *           hit on: what follows is the line's next far time, or, while it is touched again soon, the one after.
 *   end     after WATCH_HITS hits of a word, which the kernel counts, or WATCH_NS after the last one
 *
 * Far times of a line follow each other: the next one stands for the one that was picked, and as all of them are picked
 * alike, so are their successors. Times are the thread's own, while it runs. A hit is an exception, of some 10 us: that
 * is in what is measured, and taken off; the cold caches that it leaves are not.
 */
#ifndef ASSAY_SAMPLER_WATCHES_H
#define ASSAY_SAMPLER_WATCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile.h"
#include "stream/window.h"

/* most watches at a time; each is of another thread and takes all debug registers */
#define WATCH_MAX 64
#define WATCH_HITS 4	   /* most hits of each word */
#define WATCH_NS 150000000 /* time without a hit after which a watch is given up */
#define WATCH_RATE 100	   /* most picks a second for each CPU that samples run on */

struct watches;

/* prog: descriptor of the program that each hit runs. NULL without memory. */
struct watches *watches_new(struct profile *p, int prog);
/* Whether the thread has no watch. */
bool watches_wanted(struct watches *w, uint32_t tid);
/* Takes a window of a running thread, and perhaps sets a watchpoint on what it touched. */
void watches_pick(struct watches *w, const struct window *win);
/* Takes a hit: the thread, the watched address, the number of hits, and the time for which the
 * watchpoint was set while the thread ran. */
void watches_hit(struct watches *w, uint32_t tid, uint64_t addr, uint64_t hits, uint64_t running);
/* Removes the watches whose time is over; `now` in ns, CLOCK_MONOTONIC. */
void watches_expire(struct watches *w, uint64_t now);
/* Stops all watches. Hits that already happened still arrive until watches_settle(). */
void watches_stop(struct watches *w);
/* Removes all watches, and adds what they saw to the profile. -1 without memory. */
int watches_settle(struct watches *w);
void watches_count(const struct watches *w, struct run_counters *n);
void watches_free(struct watches *w);

#endif
