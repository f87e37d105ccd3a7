/* SPDX-License-Identifier: MIT */
/*
 * Consumers of executed instructions in order (exact/order.h): simulated caches and cores, reuse distances, conflicts; into the
 * profile.
 *
 * Each process has lines of its own. Each thread runs on a core of its own; the last level is one for all.
 * Reuse distances are of a process: its threads' accesses as they come, one after the other.
 */
#ifndef ASSAY_EXACT_SIMULATE_H
#define ASSAY_EXACT_SIMULATE_H

#include "exact/order.h"
#include "model/machine.h"
#include "observe/profile.h"

/* Good until simulate_free. NULL: no memory. */
const struct order_consumer *simulate_misses(struct profile *p, const struct machine *m);
/* Misses, and the cycles of a core that has them. */
const struct order_consumer *simulate_cycles(struct profile *p, const struct machine *m);
const struct order_consumer *simulate_reuse(struct profile *p, uint32_t line);
/* Within p->conflict_distance: observe/conflicts.h. */
const struct order_consumer *simulate_conflicts(struct profile *p);
void simulate_free(const struct order_consumer *c);

#endif
