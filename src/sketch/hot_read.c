/* SPDX-License-Identifier: MIT */
/* What a hot list tells: its hottest values, with bounds. */
#include "sketch/hot_priv.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"

#define DOUBT 0.05 /* probability that a counting sample's upper bound is exceeded */

double hot_weight(const struct hot *h)
{
	return h->weighted ? h->weight : (double)h->total;
}

uint64_t hot_total(const struct hot *h)
{
	return h->total;
}

unsigned hot_distinct(const struct hot *h)
{
	return h->n;
}

bool hot_exact(const struct hot *h)
{
	return h->method == HOT_COUNTING ? h->tau <= 1 : hot_rest(h) == 0;
}

double hot_tau(const struct hot *h)
{
	return h->method == HOT_COUNTING ? h->tau : 1;
}

double hot_confidence(const struct hot *h)
{
	return h->method == HOT_COUNTING && h->tau > 1 ? 1 - DOUBT : 1;
}

enum hot_method hot_method(const struct hot *h)
{
	return h->method;
}

/* Returns the number of occurrences that are not known to belong to a value in the list. */
static double unclaimed(const struct hot *h)
{
	double left = (double)h->total;

	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);

		left -= hot_certain(h, &e);
	}
	return left > 0 ? left : 0;
}

static struct hot_value report(const struct hot *h, const struct entry *e, double spare)
{
	double count = (double)e->count, low = hot_certain(h, e);
	struct hot_value v = { .value = e->value, .count = low, .low = low, .high = count };

	if (h->method == HOT_COUNTING) {
		v.high = count + hot_missed(h, DOUBT);
		v.count = count + (double)e->error + h->tau - 1;
	}
	v.high = fmin(v.high, low + spare);
	v.count = fmin(v.count, v.high);
	invariant(v.low <= v.count);
	v.weight = v.count;
	v.weight_low = v.low;
	v.weight_high = v.high;
	if (h->weighted && low > 0) {
		double certainly = e->weight;

		v.weight = fmin(certainly * v.count / low, h->weight);
		v.weight_low = fmin(certainly, h->weight);
		v.weight_high = fmin(certainly + (v.high - low) * HOT_WEIGHT_MAX, h->weight);
	} else if (h->weighted) {
		v.weight = v.weight_low = 0;
		v.weight_high = fmin(v.high * HOT_WEIGHT_MAX, h->weight);
	}
	return v;
}

unsigned hot_top(const struct hot *h, struct hot_value *out, unsigned n)
{
	double spare = unclaimed(h);
	unsigned k = 0;

	for (unsigned i = 0; i < h->n; i++) {
		struct entry e = hot_entry(h, i);
		struct hot_value v = report(h, &e, spare);
		unsigned at = k;

		while (at > 0 && (out[at - 1].count < v.count ||
				  (out[at - 1].count == v.count && out[at - 1].value > v.value)))
			at--;
		if (at == n)
			continue;
		if (k < n)
			k++;
		memmove(&out[at + 1], &out[at], (k - 1 - at) * sizeof(*out));
		out[at] = v;
	}
	return k;
}

double hot_rest_bound(const struct hot *h)
{
	double spare = unclaimed(h), bound;

	if (h->method == HOT_SPACE_SAVING)
		return fmin((double)hot_rest(h), spare);
	bound = hot_missed(h, DOUBT);
	if (bound < 1)
		return 0;
	/* This bound holds for all values at once: at most spare / bound values can be so
	 * frequent. */
	for (int i = 0; i < 3; i++)
		bound = hot_missed(h, DOUBT / fmax(1, spare / bound));
	return fmin(bound, spare);
}
