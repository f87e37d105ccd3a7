/* SPDX-License-Identifier: MIT */
/*
 * Cycles that a simulated core (model/timing.h) spent on each site of an exact recording: how long
 * the site's instruction was the oldest one that had not retired, by what it waited for.
 */
#ifndef ASSAY_OBSERVE_CYCLES_H
#define ASSAY_OBSERVE_CYCLES_H

#include <stdint.h>

#include "model/timing.h"
#include "observe/profile.h"

struct cycles {
	struct site_id key;
	uint64_t n[TIMING_PART_N]; /* in ticks; TIMING_TICKS are a cycle */
	UT_hash_handle hh;
};

extern const char *const cycle_part_name[TIMING_PART_N];
extern const char *const cycle_part_what[TIMING_PART_N];

/* Finds or makes the site's entry; NULL without memory. */
struct cycles *cycles_get(struct profile *p, struct site_id id);
const struct cycles *cycles_find(const struct profile *p, struct site_id id);
/* The sum of all parts, in cycles. */
double cycles_total(const uint64_t n[TIMING_PART_N]);
int cycles_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
/* The same, times the factor; src has none of them then. */
int cycles_move(struct profile *dst, struct profile *src, const uint32_t *map, double factor);
void cycles_free(struct profile *p);

#endif
