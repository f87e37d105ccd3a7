/* SPDX-License-Identifier: MIT */
#include "estimate/dcpi.h"

#include <stdlib.h>

const char *const confidence_name[CONFIDENCE_N] = { "none", "low", "medium", "high" };

const struct dcpi_rules dcpi_default = {
	.cluster = 1.5,
	.part = 0.25,
	.stall = 300,
	.few = 50,
	.split = 0.1,
};

struct ratio {
	double value, samples;
};

static int by_value(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* The ratio S / M. M is counted from the instruction after the one that i waits for, because a
 * stall in between would be hidden in M. */
static struct ratio ratio_of(const struct dcpi_insn *v, size_t i)
{
	size_t from = i;
	double s = 0, m = 0;

	if (v[i].cause >= 0 && (size_t)v[i].cause < i)
		for (size_t k = i; k > (size_t)v[i].cause && !v[k].first; k--)
			from = k;
	for (size_t k = from; k <= i; k++) {
		s += v[k].samples;
		m += v[k].least;
	}
	return (struct ratio){ .value = s / m, .samples = s };
}

/* Whether an instruction that should issue together with i has samples of its own. */
static bool is_split(const struct dcpi_insn *v, size_t n, size_t i, const struct dcpi_rules *rules)
{
	double along = 0;

	for (size_t k = i + 1; k < n && !v[k].first && v[k].least <= 0; k++)
		along += v[k].samples;
	return along > rules->split * v[i].samples;
}

/* Collects the issue points in r; split ones only if there are no others. */
static size_t collect(struct ratio *r, const struct dcpi_insn *v, size_t n,
		      const struct dcpi_rules *rules)
{
	size_t points = 0;

	for (int split = 0; split < 2 && !points; split++)
		for (size_t i = 0; i < n; i++)
			if (v[i].least > 0 && is_split(v, n, i, rules) == split)
				r[points++] = ratio_of(v, i);
	return points;
}

/* Whether f implies a stall of some instruction that is longer than any real stall. */
static bool is_absurd(double f, const struct dcpi_insn *v, size_t n, const struct dcpi_rules *rules)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].samples > f * (v[i].least + rules->stall))
			return true;
	return false;
}

static enum confidence rate(size_t used, size_t points, double spread, double samples)
{
	if (used >= 3 && 2 * used >= points && spread <= 1.25 && samples >= 400)
		return CONFIDENCE_HIGH;
	if (used >= 2 && samples >= 100)
		return CONFIDENCE_MEDIUM;
	return CONFIDENCE_LOW;
}

/* Finds the lowest cluster that passes all tests, if there is one. */
static void find_cluster(struct dcpi_estimate *e, const struct ratio *r, const struct dcpi_insn *v,
			 size_t n, const struct dcpi_rules *rules)
{
	size_t points = e->points, end;

	for (size_t i = 0; i < points; i = end) {
		double sum = 0, samples = 0;

		for (end = i; end < points && r[end].value <= rules->cluster * r[i].value; end++) {
			sum += r[end].value;
			samples += r[end].samples;
		}
		if (end == i)
			end++; /* the remaining ratios are NAN */
		e->used = (unsigned)(end - i);
		e->f = sum / e->used;
		e->confidence = rate(e->used, points, r[end - 1].value / r[i].value, samples);
		if (e->used >= rules->part * (double)points && !is_absurd(e->f, v, n, rules))
			return;
	}
	/* There is no issue point at which the block runs as it was scheduled. */
	e->used = 0;
	e->confidence = CONFIDENCE_LOW;
}

int dcpi_class(struct dcpi_estimate *e, const struct dcpi_insn *v, size_t n,
	       const struct dcpi_rules *rules)
{
	double samples = 0, least = 0;
	struct ratio *r;

	*e = (struct dcpi_estimate){ .confidence = CONFIDENCE_NONE };
	for (size_t i = 0; i < n; i++) {
		samples += v[i].samples;
		least += v[i].least;
	}
	if (least <= 0 || !n)
		return 0;
	r = malloc(n * sizeof(*r));
	if (!r)
		return -1;
	e->points = (unsigned)collect(r, v, n, rules);
	if (samples < rules->few) {
		e->few = true;
		e->used = e->points;
		e->f = samples / least;
		e->confidence = CONFIDENCE_LOW;
	} else {
		qsort(r, e->points, sizeof(*r), by_value);
		find_cluster(e, r, v, n, rules);
		if (!e->used)
			e->f = samples / least;
	}
	free(r);
	return 0;
}
