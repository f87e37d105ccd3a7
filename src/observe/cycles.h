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
	uint64_t n[TIMING_PART_N]; /* in ticks; TIMING_TICKS are a cycle */
};

extern const char *const cycle_part_name[TIMING_PART_N];

/* Finds or makes the site's counts; NULL without memory. The first site is of this profile. */
struct cycles *cycles_at(struct profile *p, const struct site *s);
struct cycles *cycles_get(struct profile *p, struct site_id id);
/* NULL: nothing was counted. */
const struct cycles *cycles_row(const struct profile *p, const struct site *s);
const struct cycles *cycles_find(const struct profile *p, struct site_id id);
/* A loop over the profile's sites that have simulated cycles: s is the site, c are its cycles. */
#define CYCLES_EACH(p, s, c) \
	SITES_EACH(&(p)->sites, s) \
	if (((c) = cycles_row(p, s)))
/* The sum of all parts, in cycles. */
double cycles_total(const uint64_t n[TIMING_PART_N]);
int cycles_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void cycles_scale(struct profile *p, const struct site *s, double factor);
void cycles_free(struct profile *p);

#endif
