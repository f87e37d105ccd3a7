/* SPDX-License-Identifier: MIT */
#include "base/quantile.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

double quantile(struct weighted *v, size_t n, double part)
{
	double all = 0, sum = 0, value = 0;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		all += v[i].weight;
	for (size_t i = 0; i < n && sum <= part * all; i++) {
		sum += v[i].weight;
		value = v[i].value;
	}
	return value;
}
