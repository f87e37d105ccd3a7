/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers: xorshift64* (Vigna). The state is the caller's, and not 0. */
#ifndef ASSAY_BASE_RANDOM_H
#define ASSAY_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_bits(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* 0 to n - 1; n is far below 2^48. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return (random_bits(state) >> 16) % n;
}

/* A number in [0, 1). */
static inline double random_part(uint64_t *state)
{
	return (double)(random_bits(state) >> 11) * 0x1p-53;
}

#endif
