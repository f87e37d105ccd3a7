/* SPDX-License-Identifier: MIT */
/*
 * How much of the sampled processes' memory lies in large pages, for which TLBs have room. The process of the latest sample is
 * looked at, so those that run longer are looked at more often.
 */
#ifndef ASSAY_SAMPLER_LARGE_PAGES_H
#define ASSAY_SAMPLER_LARGE_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/broker.h"

struct large_pages {
	pid_t pid;			/* process of the latest sample; 0: there was none */
	uint64_t next;			/* when to look again, not before; ns, CLOCK_MONOTONIC */
	uint64_t memory_kib, large_kib; /* KiB: sums over all looks */
	uint64_t small_kib;		/* the most that one look found in small pages */
};

/* Looks at the process, unless it is too early: at most five times a second, and for at most 1 % of the time, because the kernel
 * walks through the tables of all its pages. A process that ended, or may not be looked at, is passed over. */
void large_pages_look(struct large_pages *l, const struct broker *b);
/* Reads /proc/PID/smaps_rollup: anonymous memory and hugetlbfs's, in KiB, and how much of that lies in large pages. False: the
 * text does not tell. */
bool large_pages_parse(const char *text, uint64_t *memory_kib, uint64_t *large_kib);

#endif
