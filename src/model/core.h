/* SPDX-License-Identifier: MIT */
/*
 * One core of the simulated machine: first and second level caches, TLBs, a branch predictor. All
 * cores share the last level. Each level receives the misses of the previous one, and keeps the
 * lines. There is no prefetching, write-back or coherence; caches are indexed by virtual address.
 */
#ifndef ASSAY_MODEL_CORE_H
#define ASSAY_MODEL_CORE_H

#include "model/branch.h"
#include "model/cache.h"
#include "model/machine.h"
#include "model/tlb.h"

struct core {
	struct cache l1d, l1i, l2;
	struct cache *l3; /* shared, not owned */
	struct tlb dtlb, itlb;
	struct branch_predictor *branch;
	unsigned line, page; /* shifts from addresses to lines and pages */
	uint64_t fetched;    /* the last fetched line of code */
	uint64_t touched;    /* the last touched page of data */
};

/* Kinds of misses, of lines and pages. */
enum core_miss {
	CORE_L1,
	CORE_L2,
	CORE_L3,
	CORE_TLB,
	CORE_WALK, /* misses in both TLBs */
	CORE_MISS_N,
};

/* Returns -1 without memory. */
int core_init(struct core *c, const struct machine *m, struct cache *l3);
void core_fini(struct core *c);
/* Initialises the shared last level. -1 without memory. */
int core_last_level(struct cache *l3, const struct machine *m);

/* The result of an access: the farthest level that one of its lines came from (0 for the first,
 * 3 for memory), and the farthest place that one of its translations came from, enum tlb_result. */
#define CORE_FOUND(level, tlb) ((level) | (unsigned)(tlb) << 2)
#define CORE_LEVEL(found) ((found)&3)
#define CORE_TRANSLATION(found) ((found) >> 2)

unsigned core_data_look(struct core *c, uint64_t at, uint64_t size, uint64_t *n);
unsigned core_fetch_look(struct core *c, uint64_t at, uint64_t *n);

/* Simulates an access to data: its misses of lines and pages are added to n[CORE_MISS_N].
 * Returns CORE_FOUND(). */
static inline unsigned core_data(struct core *c, uint64_t at, uint64_t size, uint64_t *n)
{
	uint64_t line = at >> c->line, page = at >> c->page;

	/* most accesses are to the most recent line of a set, in the last page or in one that a hint finds */
	if ((at + size - 1) >> c->line == line && cache_top(&c->l1d, line) &&
	    (page == c->touched || cache_hinted(&c->dtlb.first, page))) {
		c->touched = page;
		return 0;
	}
	return core_data_look(c, at, size, n);
}

/* Notes a line that was touched, or fetched, while nothing was simulated: the large caches get it, and the second TLB
 * its page. */
void core_touched(struct core *c, uint64_t at);

/* Simulates a fetch of code within one line. */
static inline unsigned core_fetch(struct core *c, uint64_t at, uint64_t *n)
{
	return at >> c->line == c->fetched ? 0 : core_fetch_look(c, at, n);
}

#endif
