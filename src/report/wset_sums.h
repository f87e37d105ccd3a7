/* SPDX-License-Identifier: MIT */
/* A working set over time: each interval compared with the preceding one, and sums over all intervals. */
#ifndef ASSAY_REPORT_WSET_SUMS_H
#define ASSAY_REPORT_WSET_SUMS_H

#include "base/err.h"
#include "observe/wset.h"

/* An interval, compared with the previous one. */
struct wset_change {
	uint64_t reused, gone;
	uint64_t shared;	    /* lines touched by more than one thread in it */
	uint64_t kind[WSET_KIND_N]; /* lines of each kind */
};

struct wset_region_sum {
	uint64_t lines;	 /* number of different lines */
	uint64_t most;	 /* most lines in one interval */
	uint64_t shared; /* the lines that more than one thread touched */
	uint32_t region;
};

struct wset_sums {
	struct wset_change *interval;	/* by snapshot */
	struct wset_region_sum *region; /* sums of each region, by its number in the working set */
	uint64_t total;			/* different lines in all intervals */
	uint64_t shared;		/* those of them that more than one thread touched */
	uint64_t code_total;		/* different lines of code that were executed */
};

/* Computes the sums of a working set; to be freed in any case. -1 with err set. */
int wset_sums(struct wset_sums *s, const struct wset *w, struct err *err);
void wset_sums_fini(struct wset_sums *s);

#endif
