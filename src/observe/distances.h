/* SPDX-License-Identifier: MIT */
/*
 * Reuse distances of lines of memory (model/reuse.h): of each process a histogram, and of each site.
 *
 * A process's buckets: below 32 one each, then 16 to an octave, so that sizes of caches up to 1.9375 * 2^n lines are
 * bounds of buckets. A site's are octaves: 0, 1, 2 to 3, 4 to 7 …
 */
#ifndef ASSAY_OBSERVE_DISTANCES_H
#define ASSAY_OBSERVE_DISTANCES_H

#include <stdint.h>

#include "observe/profile.h"

#define DISTANCE_BITS 40 /* distances are less than 2 to the power of that */
#define DISTANCE_BUCKETS (32 + 16 * (DISTANCE_BITS - 5))
#define DISTANCE_OCTAVES (DISTANCE_BITS + 1)

struct distances { /* of a process */
	uint32_t run, pid;
	uint32_t line; /* bytes */
	uint64_t cold; /* touches of lines not touched before: so many lines there were */
	uint64_t bucket[DISTANCE_BUCKETS];
};

struct site_distances {
	struct site_id key;
	uint64_t cold;
	uint64_t octave[DISTANCE_OCTAVES];
	UT_hash_handle hh;
};

static inline unsigned distance_bucket(uint64_t d)
{
	unsigned log = d ? 63 - (unsigned)__builtin_clzll(d) : 0;

	return d < 32 ? (unsigned)d : 32 + 16 * (log - 5) + (unsigned)(d >> (log - 4) & 15);
}

static inline unsigned distance_octave(uint64_t d)
{
	return d ? 64 - (unsigned)__builtin_clzll(d) : 0;
}

/* The least distance of a bucket; of an octave. */
uint64_t distance_of_bucket(unsigned bucket);
uint64_t distance_of_octave(unsigned octave);

/* One more process's, zeroed; NULL without memory. It stays where it is. */
struct distances *distances_new(struct profile *p);
uint64_t distances_total(const struct distances *d); /* touches, cold ones too */
/* The site's, made if new; NULL without memory. */
struct site_distances *distances_site(struct profile *p, struct site_id id);
int distances_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void distances_free(struct profile *p);

#endif
