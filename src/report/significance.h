/* SPDX-License-Identifier: MIT */
/*
 * Whether two measurements differ by more than chance: tests of one row, and what many tests at once amount to.
 * docs/methods/diff.md derives them.
 */
#ifndef ASSAY_REPORT_SIGNIFICANCE_H
#define ASSAY_REPORT_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limits {
	double low, high; /* INFINITY: without an upper limit */
};

/* Several measurements of one side: their mean, and the variance of that mean with its degrees of freedom. */
struct sample_mean {
	double mean, variance, freedom; /* freedom INFINITY: the variance is known, not estimated */
};

/* Probability that a binomial variable of n trials is k or less. */
double significance_binomial(double k, double n, double p);
/* Probability that Student's t with so many degrees of freedom is t or less. */
double significance_student(double t, double freedom);

/*
 * The p-value of two Poisson counts whose rates are the same where `new` gets the part `share` of all events: the
 * conditional binomial test (Przyborowski and Wilenski, Biometrika 1940), two-sided, with mid-p-values.
 */
double significance_counts(double base, double new, double share);
/* 95 % limits of new's rate over base's, in units of events: the Wilson interval of new / (base + new). */
struct limits significance_ratio(double base, double new);

/* Mean of n values, n > 0. Its variance is at least `least`, which sampling alone causes. */
struct sample_mean significance_mean(const double *v, size_t n, double least);
/* The p-value of two means by Welch's test (Biometrika 1947): of their logarithms, since runs vary in proportion to their
 * length; where one is 0, of the means themselves. */
double significance_means(const struct sample_mean *base, const struct sample_mean *new);
/* 95 % limits of new's mean over base's, by the delta method on logarithms; both means above 0. */
struct limits significance_means_ratio(const struct sample_mean *base,
				       const struct sample_mean *new);

/*
 * The greatest p-value that counts as a discovery if at most the part `rate` of discoveries is to be false (Benjamini
 * and Hochberg, "Controlling the False Discovery Rate", JRSS B 1995); -1: none does. Sorts p.
 */
double significance_threshold(double *p, size_t n, double rate);

#endif
