/* SPDX-License-Identifier: MIT */
#include "query/share.h"

#include <math.h>

#define SHARE_DRIFT 1.0
#define SHARE_DOUBT 0.1
#define Z 1.959964 /* standard deviations of a two-sided 95 % interval */

/* A limit of the Wilson interval (JASA 1927). sign: -1 the lower limit, +1 the upper. */
static double wilson(double p, double n, int sign)
{
	double z2 = Z * Z, mid = p + z2 / (2 * n);
	double half = Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n)), limit;

	limit = (mid + sign * half) / (1 + z2 / n);
	return limit < 0 ? 0 : limit > 1 ? 1 : limit;
}

static double clamp(double p)
{
	return p < 0 ? 0 : p > 1 ? 1 : p;
}

/* Makes the interval contain the value despite rounding. */
static struct share bounded(struct share s)
{
	s.low = s.low > s.value ? s.value : s.low;
	s.high = s.high < s.value ? s.value : s.high;
	s.bound = s.value - s.low > s.high - s.value ? s.value - s.low : s.high - s.value;
	return s;
}

static struct share make(double p, double least, double most, double n)
{
	struct share s = { .value = p, .low = 0, .high = 1, .raw = p };

	if (n > 0) {
		s.low = wilson(least, n, -1);
		s.high = wilson(most, n, 1);
	}
	return bounded(s);
}

struct share share_of(double part, double n)
{
	double p = n > 0 ? clamp(part / n) : 0;

	return make(p, p, p, n);
}

struct share share_hot(const struct hot_value *v, double total, double independent)
{
	if (total <= 0)
		return share_of(0, 0);
	if (independent > total)
		independent = total;
	return make(clamp(v->count / total), clamp(v->low / total), clamp(v->high / total),
		    independent);
}

struct share share_weighed(const struct hot_value *v, double total, double weight,
			   double independent)
{
	struct share s;
	double drift;

	if (total <= 0 || weight <= 0)
		return share_of(0, 0);
	if (independent > total)
		independent = total;
	s = make(clamp(v->weight / weight), clamp(v->weight_low / weight),
		 clamp(v->weight_high / weight), independent);
	s.raw = clamp(v->count / total);
	drift = SHARE_DRIFT * fabs(s.value - s.raw) + SHARE_DOUBT * s.value * (1 - s.value);
	s.low = clamp(s.low - drift);
	s.high = clamp(s.high + drift);
	return bounded(s);
}

struct share share_all(const struct hot_value *v, double total)
{
	if (total <= 0)
		return share_of(0, 0);
	return bounded((struct share){ .value = clamp(v->count / total),
				       .low = clamp(v->low / total),
				       .high = clamp(v->high / total),
				       .raw = clamp(v->count / total) });
}
