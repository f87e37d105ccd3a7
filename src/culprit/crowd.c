/* SPDX-License-Identifier: MIT */
#include "culprit/crowd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int crowd_add(struct crowd *c, double uses, double n)
{
	if (!(uses > 0) || !(n > 0))
		return 0;
	if (isinf(n)) {
		c->endless += uses;
		return 0;
	}
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 256;
		struct crowd_part *v = realloc(c->v, cap * sizeof(*v));

		if (!v)
			return -1;
		c->v = v;
		c->cap = cap;
	}
	c->v[c->n++] = (struct crowd_part){ uses / n, n };
	return 0;
}

static int by_uses(const void *a, const void *b)
{
	const struct crowd_part *x = a, *y = b;

	return (x->uses < y->uses) - (x->uses > y->uses);
}

int crowd_ready(struct crowd *c)
{
	c->count = calloc(c->n + 1, sizeof(*c->count));
	c->weight = calloc(c->n + 1, sizeof(*c->weight));
	if (!c->count || !c->weight)
		return -1;
	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_uses);
	for (size_t i = 0; i < c->n; i++)
		c->count[i + 1] = c->count[i] + c->v[i].n;
	for (size_t i = c->n; i-- > 0;)
		c->weight[i] = c->weight[i + 1] + c->v[i].n * c->v[i].uses;
	return 0;
}

void crowd_fini(struct crowd *c)
{
	free(c->v);
	free(c->count);
	free(c->weight);
	memset(c, 0, sizeof(*c));
}

double crowd_between(const struct crowd *c, double uses)
{
	size_t low = 0, high = c->n;

	if (!(uses > 0))
		return INFINITY;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->v[mid].uses >= uses)
			low = mid + 1;
		else
			high = mid;
	}
	return c->n ? c->count[low] + (c->weight[low] + c->endless) / uses : c->endless / uses;
}
