/* SPDX-License-Identifier: MIT */
/* Quantiles of values with weights. */
#ifndef ASSAY_BASE_QUANTILE_H
#define ASSAY_BASE_QUANTILE_H

#include <stddef.h>

struct weighted {
	double value, weight;
};

/* Sorts v and returns the value at which the weights, added up in order of value, exceed `part`
 * of their sum; 0 if n is 0. */
double quantile(struct weighted *v, size_t n, double part);

#endif
