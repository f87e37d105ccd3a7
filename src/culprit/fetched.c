/* SPDX-License-Identifier: MIT */
#include "culprit/fetched.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"

int fetched_add(struct fetched *f, const struct fetched_unit *unit)
{
	if (!array_reserve(f->v, f->cap, f->n + 1))
		return -1;
	f->v[f->n++] = *unit;
	return 0;
}

static int by_unit(const void *a, const void *b)
{
	const struct fetched_unit *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

int fetched_ready(struct fetched *f, struct crowd *crowd)
{
	double bursts = 0, seen = 0;
	size_t k = 0;

	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_unit);
	for (size_t i = 0; i < f->n; i++) {
		if (k && !by_unit(&f->v[k - 1], &f->v[i])) {
			f->v[k - 1].uses = fmax(f->v[k - 1].uses, f->v[i].uses);
			f->v[k - 1].bursts = fmax(f->v[k - 1].bursts, f->v[i].bursts);
			f->v[k - 1].seen += f->v[i].seen;
		} else {
			f->v[k++] = f->v[i];
		}
	}
	f->n = k;
	for (size_t i = 0; i < k; i++) {
		bursts += f->v[i].bursts;
		seen += f->v[i].seen;
	}
	for (size_t i = 0; i < k; i++) {
		if (seen > 0)
			f->v[i].bursts = fmax(f->v[i].bursts, f->v[i].seen * bursts / seen);
		if (crowd_add(crowd, f->v[i].uses, f->v[i].bursts, 1))
			return -1;
	}
	return 0;
}

void fetched_fini(struct fetched *f)
{
	free(f->v);
	*f = (struct fetched){ NULL, 0, 0 };
}

double fetched_bursts(const struct fetched *f, uint32_t image, uint64_t unit)
{
	const struct fetched_unit key = { .image = image, .unit = unit };
	const struct fetched_unit *u =
		f->n ? bsearch(&key, f->v, f->n, sizeof(key), by_unit) : NULL;

	return u ? u->bursts : 0;
}
