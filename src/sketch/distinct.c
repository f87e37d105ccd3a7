/* SPDX-License-Identifier: MIT */
#include "sketch/distinct.h"

#include <math.h>

#define BITS 6	       /* of the hash that choose a register */
#define ALPHA 0.709    /* the correction for 64 registers */
#define SMALL 2.5      /* values for each register, below which empty registers are counted */
#define NEW_MOST 0.8   /* share of drawn values that are new, above which most are still to come */
#define DRAWN_LEAST 64 /* least number of drawn values that allows an estimate */
#define HALVINGS 40

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t v)
{
	v += 0x9e3779b97f4a7c15;
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
	v = (v ^ v >> 27) * 0x94d049bb133111eb;
	return v ^ v >> 31;
}

void distinct_add(struct distinct *d, uint64_t value)
{
	uint64_t h = mix(value);
	uint8_t *to = &d->rank[h % DISTINCT_REGISTERS];
	uint8_t rank = (uint8_t)(h >> BITS ? __builtin_ctzll(h >> BITS) + 1 : DISTINCT_RANK_MAX);

	if (rank > *to)
		*to = rank;
}

void distinct_merge(struct distinct *to, const struct distinct *from)
{
	for (int i = 0; i < DISTINCT_REGISTERS; i++)
		if (from->rank[i] > to->rank[i])
			to->rank[i] = from->rank[i];
}

double distinct_count(const struct distinct *d)
{
	double sum = 0, empty = 0, n;

	for (int i = 0; i < DISTINCT_REGISTERS; i++) {
		sum += ldexp(1, -d->rank[i]);
		empty += !d->rank[i];
	}
	n = ALPHA * DISTINCT_REGISTERS * DISTINCT_REGISTERS / sum;
	if (n <= SMALL * DISTINCT_REGISTERS && empty > 0)
		return DISTINCT_REGISTERS * log(DISTINCT_REGISTERS / empty);
	return n;
}

double distinct_drawn_from(const struct distinct *d, double n)
{
	double part = n > 0 ? distinct_count(d) / n : 1, low = 1e-9, high = 1e9;

	if (n < DRAWN_LEAST || part > NEW_MOST)
		return INFINITY;
	/* of N values, n draws find N (1 - exp(-n / N)) */
	for (int i = 0; i < HALVINGS; i++) {
		double mid = sqrt(low * high);

		*(-expm1(-mid) / mid > part ? &low : &high) = mid;
	}
	return n / low;
}
