/* SPDX-License-Identifier: MIT */
/*
 * Reuse distances of lines of memory (model/reuse.h): a histogram for each process, and one for
 * each site.
 *
 * A process has one bucket for each distance below 32, then 16 buckets an octave, so that the sizes
 * of caches with up to 1.9375 * 2^n lines are bounds of buckets. A site has octaves: 0, 1, 2 to 3,
 * 4 to 7 and so on.
 */
#ifndef ASSAY_OBSERVE_DISTANCES_H
#define ASSAY_OBSERVE_DISTANCES_H

#include <stdint.h>

#include "observe/profile.h"

#define DISTANCE_BITS 40 /* distances are below 2 to this power */
#define DISTANCE_BUCKETS (32 + 16 * (DISTANCE_BITS - 5))
#define DISTANCE_OCTAVES (DISTANCE_BITS + 1)

struct distances { /* distances of a process */
	uint32_t run, pid;
	uint32_t line; /* bytes of a line */
	uint64_t cold; /* touches of lines that were not touched before: the number of lines */
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

/* The smallest distance of a bucket, and of an octave. */
uint64_t distance_of_bucket(unsigned bucket);
uint64_t distance_of_octave(unsigned octave);

/* Adds an empty entry for a process; NULL without memory. It never moves. */
struct distances *distances_new(struct profile *p);
uint64_t distances_total(
	const struct distances
		*d); /* number of touches, including those of lines not touched before */
/* Finds or makes the site's entry; NULL without memory. */
struct site_distances *distances_site(struct profile *p, struct site_id id);
int distances_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void distances_free(struct profile *p);

#endif
