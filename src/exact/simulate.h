/* SPDX-License-Identifier: MIT */
/*
 * Consumers of executed instructions in order (exact/order.h) that simulate caches and cores, or
 * find reuse distances and conflicts, and add them to the profile. Each process has lines of its
 * own. Each thread runs on a core of its own; the last level of cache is shared by all. Reuse
 * distances are found by process: the accesses of its threads, in the order in which they are read.
 */
#ifndef ASSAY_EXACT_SIMULATE_H
#define ASSAY_EXACT_SIMULATE_H

#include "exact/order.h"
#include "model/machine.h"
#include "observe/profile.h"

/* Make a consumer, good until simulate_free. NULL: no memory. */
const struct order_consumer *simulate_misses(struct profile *p, const struct machine *m);
/* Simulates misses, and the cycles of a core that has them. */
const struct order_consumer *simulate_cycles(struct profile *p, const struct machine *m);
const struct order_consumer *simulate_reuse(struct profile *p, uint32_t line);
/* Finds conflicts within p->conflict_distance: observe/conflicts.h. */
const struct order_consumer *simulate_conflicts(struct profile *p);
void simulate_free(const struct order_consumer *c);

#endif
