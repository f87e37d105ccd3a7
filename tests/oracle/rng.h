/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that a seed repeats (splitmix64), and random operands: those at which arithmetic
 * changes its ways are likelier than the rest.
 */
#ifndef ASSAY_TESTS_RNG_H
#define ASSAY_TESTS_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t s;
};

static inline uint64_t rng_u64(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 … n - 1. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_u64(r) % n;
}

static inline bool rng_chance(struct rng *r, unsigned percent)
{
	return rng_below(r, 100) < percent;
}

static inline uint64_t rng_value(struct rng *r)
{
	uint64_t v = rng_u64(r);

	switch (rng_below(r, 10)) {
	case 0:
		return v & 0x3f;
	case 1:
		return -(v & 0x3f);
	case 2: /* about a power of two */
		return (1ull << (v & 63)) + (v >> 6) % 3 - 1;
	case 3:
		return ~0ull << (v & 63);
	case 4:
		return ~0ull >> (v & 63);
	case 5: /* few bits */
		return v & rng_u64(r) & rng_u64(r);
	case 6: /* short, either sign */
		return (uint64_t)((int64_t)v >> (rng_u64(r) & 63));
	default:
		return v;
	}
}

#endif
