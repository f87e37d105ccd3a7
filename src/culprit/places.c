/* SPDX-License-Identifier: MIT */
#include "culprit/places.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"

static int add(struct places *p, uint64_t unit, double uses, double bursts)
{
	if (!array_reserve(p->v, p->cap, p->n + 1))
		return -1;
	p->v[p->n++] = (struct place){ unit, uses, bursts };
	return 0;
}

int places_add(struct places *p, uint64_t from, uint64_t to, double uses, double bursts)
{
	double n = (double)(to - from) + 1;

	if (!(uses > 0))
		return 0;
	return add(p, from, uses / n, bursts / n) || add(p, to + 1, -uses / n, -bursts / n) ? -1
											    : 0;
}

static int by_unit(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->unit > y->unit) - (x->unit < y->unit);
}

int places_ready(struct places *p, struct crowd *crowd)
{
	double uses = 0, bursts = 0, most = 0;
	size_t k = 0;

	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_unit);
	for (size_t i = 0; i < p->n; i++) {
		uses += p->v[i].uses;
		bursts += p->v[i].bursts;
		most = fmax(most, uses);
		if (i + 1 < p->n && p->v[i + 1].unit == p->v[i].unit)
			continue;
		/* rounding errors of sums, where no region lies */
		if (uses < most * 1e-12)
			uses = bursts = 0;
		p->v[k++] = (struct place){ p->v[i].unit, uses, fmax(0, bursts) };
	}
	p->n = k;
	for (size_t i = 0; i + 1 < k; i++) {
		double n = (double)(p->v[i + 1].unit - p->v[i].unit);

		if (crowd_add(crowd, p->v[i].uses * n, p->v[i].bursts * n, n))
			return -1;
	}
	return 0;
}

void places_fini(struct places *p)
{
	free(p->v);
	*p = (struct places){ NULL, 0, 0 };
}

double places_bursts(const struct places *p, uint64_t unit)
{
	size_t low = search_first(i, 0, p->n, p->v[i].unit > unit);

	return low ? p->v[low - 1].bursts : 0;
}
