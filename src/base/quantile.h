/* SPDX-License-Identifier: MIT */
/* Quantiles of values with weights. */
#ifndef ASSAY_BASE_QUANTILE_H
#define ASSAY_BASE_QUANTILE_H

#include <stddef.h>

struct weighted {
	double value, weight;
};

/* Sorts v, and returns the value at which its weights, added up in that order, exceed `part` of their sum; 0 of none. */
double quantile(struct weighted *v, size_t n, double part);

#endif
