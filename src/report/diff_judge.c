/* SPDX-License-Identifier: MIT */
#include "report/diff_judge.h"

#include <math.h>
#include <stdlib.h>

#define RATIO_MAX 1000.0

static void judge_exact(struct diff_amounts *a)
{
	a->p = a->mean[0] == a->mean[1] ? 1 : 0;
	a->ratio.low = a->ratio.high = a->mean[1] / a->mean[0];
}

static void judge_counts(struct diff_amounts *a, const double event[2])
{
	/* the share of all events that the base would have by chance: the smaller what one of its
	 * events stands for, the larger */
	double share = event[0] / (event[0] + event[1]);

	a->p = significance_counts(a->count[0], a->count[1], share);
	a->ratio = significance_ratio(a->count[0], a->count[1]);
	a->ratio.low *= event[1] / event[0];
	a->ratio.high *= event[1] / event[0];
}

/* If runs differ by more than chance in sampling, a difference has to pass both tests. */
static void judge_runs(struct diff_amounts *a, const struct diff_scale *s)
{
	struct sample_mean m[2];
	struct limits between;
	double p;

	for (int i = 0; i < 2; i++)
		m[i] = significance_mean(a->each[i], s->n[i],
					 s->exact ? 0 : a->count[i] * s->event[i] * s->event[i]);
	p = significance_means(&m[0], &m[1]);
	if (s->exact)
		a->p = p;
	else
		a->p = fmax(a->p, p);
	if (a->mean[0] <= 0 || a->mean[1] <= 0)
		return;
	between = significance_means_ratio(&m[0], &m[1]);
	a->ratio.low = s->exact ? between.low : fmin(a->ratio.low, between.low);
	a->ratio.high = s->exact ? between.high : fmax(a->ratio.high, between.high);
}

/* The least p-value that so many events can have: rows of a few are no part of the number of tests (R. Tarone, "A
 * Modified Bonferroni Method for Discrete Data", Biometrics 1990). */
static bool may_differ(const struct diff_amounts *a, const double event[2])
{
	double n = a->count[0] + a->count[1], share = event[0] / (event[0] + event[1]);

	return fmin(significance_counts(n, 0, share), significance_counts(0, n, share)) <=
	       DIFF_FALSE;
}

static enum diff_verdict verdict_of(const struct diff_amounts *a, double threshold)
{
	if (a->p > threshold)
		return DIFF_SAME;
	if (a->mean[0] <= 0)
		return DIFF_NEW;
	if (a->mean[1] <= 0)
		return DIFF_GONE;
	return a->mean[1] > a->mean[0] ? DIFF_SLOWER : DIFF_FASTER;
}

static double threshold_of(struct diff_amounts **a, size_t n, const struct diff_scale *s,
			   double *least)
{
	double *p = calloc(n + 1, sizeof(*p)), threshold;
	size_t tests = 0, found;

	if (!p)
		return NAN;
	for (size_t i = 0; i < n; i++)
		if (s->exact || may_differ(a[i], s->event))
			p[tests++] = a[i]->p;
	threshold = significance_threshold(p, tests, DIFF_FALSE);
	for (found = 0; found < tests && p[found] <= threshold; found++)
		;
	if (least)
		*least = DIFF_FALSE * fmin(1, (double)(found + 1) / (double)(tests ? tests : 1));
	free(p);
	return threshold;
}

int diff_judge(struct diff_amounts **a, size_t n, const struct diff_scale *s, double *least)
{
	double threshold;

	for (size_t i = 0; i < n; i++) {
		if (s->exact)
			judge_exact(a[i]);
		else
			judge_counts(a[i], s->event);
		if (s->between)
			judge_runs(a[i], s);
	}
	threshold = threshold_of(a, n, s, least);
	if (isnan(threshold))
		return -1;
	for (size_t i = 0; i < n; i++)
		a[i]->verdict = verdict_of(a[i], threshold);
	return 0;
}

double diff_smallest_ratio(const struct diff_scale *s, double count, double p)
{
	double share = s->event[0] / (s->event[0] + s->event[1]);
	double low = 1, high = RATIO_MAX, each = s->event[0] / s->event[1];

	if (count <= 0 || !(each > 0) || isinf(each) ||
	    significance_counts(count, count * each * high, share) > p)
		return INFINITY;
	while (high / low > 1.0005) {
		double middle = sqrt(low * high);

		if (significance_counts(count, count * each * middle, share) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}
