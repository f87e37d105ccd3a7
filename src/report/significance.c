/* SPDX-License-Identifier: MIT */
#include "report/significance.h"

#include <math.h>
#include <stdlib.h>

#define Z 1.959964 /* 95 %, two-sided */
#define ROUNDS 300
#define TINY 1e-300

/* The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < TINY ? TINY : d);
	f = d;
	for (int m = 1; m < ROUNDS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < TINY ? TINY : d);
		c = fabs(c) < TINY ? TINY : c;
		f *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < TINY ? TINY : d);
		c = fabs(c) < TINY ? TINY : c;
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-13)
			break;
	}
	return f;
}

/* lgamma() keeps a sign in a global variable. */
static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double significance_binomial(double k, double n, double p)
{
	if (k < 0)
		return 0;
	return k >= n ? 1 : beta(1 - p, n - k, k + 1);
}

double significance_student(double t, double freedom)
{
	double half;

	if (isinf(freedom))
		return 0.5 * erfc(-t / sqrt(2));
	half = 0.5 * beta(freedom / (freedom + t * t), freedom / 2, 0.5);
	return t > 0 ? 1 - half : half;
}

double significance_counts(double base, double new, double share)
{
	double n = base + new, below, upto, least;

	if (n <= 0)
		return 1;
	below = significance_binomial(new - 1, n, share);
	upto = significance_binomial(new, n, share);
	least = fmin((below + upto) / 2, 1 - (below + upto) / 2);
	return fmin(1, 2 * fmax(least, 0));
}

struct limits significance_ratio(double base, double new)
{
	double n = base + new, p, z2 = Z *Z, middle, half, low, high;

	if (n <= 0)
		return (struct limits){ 0, INFINITY };
	p = new / n;
	middle = p + z2 / (2 * n);
	half = Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
	low = fmax(0, (middle - half) / (1 + z2 / n));
	high = fmin(1, (middle + half) / (1 + z2 / n));
	if (new <= 0)
		low = 0;
	return (struct limits){ low / (1 - low),
				base <= 0 || high >= 1 ? INFINITY : high / (1 - high) };
}

struct sample_mean significance_mean(const double *v, size_t n, double least)
{
	struct sample_mean m = { .freedom = (double)n - 1 };
	double squares = 0;

	for (size_t i = 0; i < n; i++)
		m.mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - m.mean) * (v[i] - m.mean);
	m.variance = n > 1 ? squares / ((double)(n - 1) * (double)n) : 0;
	if (m.variance < least || n < 2) {
		m.variance = least;
		m.freedom = INFINITY;
	}
	return m;
}

/* Welch and Satterthwaite's degrees of freedom of a sum of variances. */
static double freedom_of(double v, double w, double v_freedom, double w_freedom)
{
	double parts = (isinf(v_freedom) ? 0 : v * v / v_freedom) +
		       (isinf(w_freedom) ? 0 : w * w / w_freedom);

	return parts > 0 ? (v + w) * (v + w) / parts : INFINITY;
}

/* The sum of both variances, with its degrees of freedom; relative: of the means' logarithms. */
static double variance_of(const struct sample_mean *base, const struct sample_mean *new,
			  bool relative, double *freedom)
{
	double v = base->variance, w = new->variance;

	if (relative) {
		v /= base->mean * base->mean;
		w /= new->mean *new->mean;
	}
	*freedom = freedom_of(v, w, base->freedom, new->freedom);
	return v + w;
}

double significance_means(const struct sample_mean *base, const struct sample_mean *new)
{
	bool relative = base->mean > 0 && new->mean > 0;
	double freedom, variance = variance_of(base, new, relative, &freedom), apart;

	apart = relative ? log(new->mean / base->mean) : new->mean - base->mean;
	if (variance <= 0)
		return apart == 0 ? 1 : 0;
	return 2 * significance_student(-fabs(apart) / sqrt(variance), freedom);
}

/* Returns the value below which Student's t lies in 97.5 % of cases. */
static double student_limit(double freedom)
{
	double low = 0, high = 1000;

	if (isinf(freedom))
		return Z;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (significance_student(middle, freedom) < 0.975)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct limits significance_means_ratio(const struct sample_mean *base,
				       const struct sample_mean *new)
{
	double v = base->variance / (base->mean * base->mean);
	double w = new->variance / (new->mean *new->mean);
	double reach = student_limit(freedom_of(v, w, base->freedom, new->freedom)) * sqrt(v + w);
	double ratio = new->mean / base->mean;
	struct limits limits;

	limits.low = ratio * exp(-reach);
	limits.high = ratio * exp(reach);
	return limits;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double significance_threshold(double *p, size_t n, double rate)
{
	double threshold = -1;

	qsort(p, n, sizeof(*p), ascending);
	for (size_t i = 0; i < n; i++)
		if (p[i] <= rate * (double)(i + 1) / (double)n)
			threshold = p[i];
	return threshold;
}
