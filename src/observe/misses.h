/* SPDX-License-Identifier: MIT */
/*
 * Misses of a simulated machine (src/model) at each site of an exact recording, and the reuse
 * distances of its accesses.
 */
#ifndef ASSAY_OBSERVE_MISSES_H
#define ASSAY_OBSERVE_MISSES_H

#include <stdint.h>

#include "observe/profile.h"

/* Kinds of counts. Misses are of lines and pages; one access may have several. One line an item. */
#define MISSES(X) \
	X(ACCESSES, "accesses", "accesses to data") \
	X(L1D, "l1d", "lines of data that the first level did not have") \
	X(L2D, "l2d", "… nor the second") \
	X(L3D, "l3d", "… nor the last: from memory") \
	X(DTLB, "dtlb", "pages of data that the first TLB did not have") \
	X(DWALK, "dwalk", "… nor the second: a walk") \
	X(FETCHES, "fetches", "lines of code entered") \
	X(L1I, "l1i", "of those, not in the first level") \
	X(L2I, "l2i", "… nor the second") \
	X(L3I, "l3i", "… nor the last") \
	X(ITLB, "itlb", "pages of code that the first TLB did not have") \
	X(IWALK, "iwalk", "… nor the second") \
	X(BRANCHES, "branches", "conditional branches, indirect jumps and calls, returns") \
	X(MISPREDICTED, "mispredicted", "of those, mispredicted")
enum miss_kind {
#define X(id, name, what) MISS_##id,
	MISSES(X)
#undef X
	MISS_KIND_N,
};
extern const char *const miss_kind_name[MISS_KIND_N];

struct misses {
	uint64_t n[MISS_KIND_N];
};

/* Finds or makes the site's counts; NULL without memory. The first site is of this profile. */
struct misses *misses_at(struct profile *p, const struct site *s);
struct misses *misses_get(struct profile *p, struct site_id id);
/* NULL: nothing was counted. */
const struct misses *misses_row(const struct profile *p, const struct site *s);
const struct misses *misses_find(const struct profile *p, struct site_id id);
/* A loop over the profile's sites that have simulated misses: s is the site, m are its misses. */
#define MISSES_EACH(p, s, m) \
	SITES_EACH(&(p)->sites, s) \
	if (((m) = misses_row(p, s)))
int misses_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void misses_scale(struct profile *p, const struct site *s, double factor);
void misses_free(struct profile *p);

#endif
