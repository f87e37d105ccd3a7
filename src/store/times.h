/* SPDX-License-Identifier: MIT */
/*
 * Times that samples stand for, as numbers. Most samples of a recording stand for the same time. So a time is stored as the
 * bits in which it differs from its number of samples times what one stood for before: 0, as a rule.
 */
#ifndef ASSAY_STORE_TIMES_H
#define ASSAY_STORE_TIMES_H

#include <stdint.h>
#include <string.h>

/* What one sample stood for. All members zero: nothing is known. */
struct times {
	double each;
};

static inline uint64_t times_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static inline void times_learn(struct times *t, uint64_t differ, double time, uint64_t samples)
{
	if (differ && samples)
		t->each = time / (double)samples;
}

/* The number that stands for the time of that many samples. */
static inline uint64_t times_put(struct times *t, double time, uint64_t samples)
{
	uint64_t differ = times_bits(time) ^ times_bits(t->each * (double)samples);

	times_learn(t, differ, time, samples);
	return differ;
}

/* The time that the number stands for; untrusted numbers give any double. */
static inline double times_get(struct times *t, uint64_t differ, uint64_t samples)
{
	uint64_t bits = differ ^ times_bits(t->each * (double)samples);
	double time;

	memcpy(&time, &bits, sizeof(time));
	times_learn(t, differ, time, samples);
	return time;
}

#endif
