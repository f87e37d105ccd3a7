/* SPDX-License-Identifier: MIT */
#include "culprit/turns.h"

#include <math.h>
#include <stdlib.h>

#define TURNS 32 /* cases that are told apart */
#define SHORTER \
	7.0 /* logarithm of how much shorter than a gap other loops can be: a thousand times */
#define WAITS 0.1 /* share of parts whose executions wait for more than is expected */

/* What is known of a part without such counters: the logarithm of its scale. */
struct known {
	double scale, variance, slow;
};

/* A normal distribution's density at that distance from its mean. */
static double density(double apart, double variance)
{
	return exp(-apart * apart / variance / 2) / sqrt(2 * M_PI * variance);
}

/* The scale if the loop began anew k more times in a gap than it seems. */
static double scale_of(const struct part_turns *t, int k)
{
	return t->scale + log((t->often + k) / t->often);
}

/* How likely the loop began anew k more times in a gap. Some executions take longer than expected, up to what they can
 * have waited for. */
static double chance(const struct part_turns *t, const struct known *known, int k)
{
	double apart = scale_of(t, k) - known->scale, variance = known->variance + t->variance;
	double late = apart < 0 ? density(apart, variance + known->slow * known->slow / 4) : 0;

	return ((1 - WAITS) * density(apart, variance) + WAITS * late) / (t->often + k);
}

/* How likely the loop began anew so often in each gap that windows saw it anywhere: then every other gap ends in a reset. */
static double chance_of_any(const struct part_turns *t)
{
	return SHORTER * density(t->often - 0.5, 0.25 / t->gaps);
}

/* Sets the part's evidence to the mean of all cases and the variance around it. */
static void tell(struct part *part, const struct part_turns *t, const struct known *known)
{
	double all = chance_of_any(t) * density(0, known->variance + t->variance);
	double sum = 0, square = all * known->variance, mean; /* of distances from what is known */

	for (int k = 0; k < TURNS; k++) {
		double of = chance(t, known, k), apart = scale_of(t, k) - known->scale;

		all += of;
		sum += of * apart;
		square += of * (t->variance + apart * apart);
	}
	if (all <= 0)
		return;
	mean = sum / all;
	part->weight = 1 / fmax(t->variance, square / all - mean * mean);
	part->sum = (known->scale + mean) * part->weight;
}

int turns_tell(struct parts *p, const double *slow)
{
	const struct part_turns **best = calloc((size_t)p->n + 1, sizeof(struct part_turns *));

	if (!best)
		return -1;
	for (size_t i = 0; i < p->nturns; i++) {
		const struct part_turns *t = &p->turns[i];

		if (!best[t->part] || t->variance < best[t->part]->variance)
			best[t->part] = t;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		struct part *part = &p->part[i];
		const struct known known = { part->sum / part->weight, 1 / part->weight, slow[i] };

		if (best[i] && !part->counted && isfinite(known.scale))
			tell(part, best[i], &known);
	}
	free(best);
	return 0;
}
