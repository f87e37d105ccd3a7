/* SPDX-License-Identifier: MIT */
/*
 * One core of the simulated machine, with what is its own: first and second level caches, translation buffers, a branch
 * predictor. All cores share the last level. Each level is asked for what the one before does not have, and keeps it:
 * no prefetching, no write-backs, no coherence, lines of caches by virtual address.
 */
#ifndef ASSAY_MODEL_CORE_H
#define ASSAY_MODEL_CORE_H

#include "model/branch.h"
#include "model/cache.h"
#include "model/machine.h"
#include "model/tlb.h"

struct core {
	struct cache l1d, l1i, l2;
	struct cache *l3; /* not its own */
	struct tlb dtlb, itlb;
	struct branch_predictor *branch;
	unsigned line, page; /* shifts */
	uint64_t fetched;    /* the last line of code */
	uint64_t touched;    /* the last page of data */
};

/* What can be missed, by line and by page. */
enum core_miss {
	CORE_L1,
	CORE_L2,
	CORE_L3,
	CORE_TLB,
	CORE_WALK, /* the second TLB, too */
	CORE_MISS_N,
};

int core_init(struct core *c, const struct machine *m, struct cache *l3); /* -1 without memory */
void core_fini(struct core *c);
/* The shared one. -1 without memory. */
int core_last_level(struct cache *l3, const struct machine *m);

/* An access to data: what of its lines and pages was missed is added to n[CORE_MISS_N]. */
void core_data(struct core *c, uint64_t at, uint64_t size, uint64_t *n);
/* A fetch of code, in one line. */
void core_fetch(struct core *c, uint64_t at, uint64_t *n);

#endif
