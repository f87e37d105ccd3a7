/* SPDX-License-Identifier: MIT */
#include "estimate/targets.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "observe/edges.h"

#define PAGE_BITS 0xfffu
#define VALUES_MAX 64 /* values read of a hot list */

int targets_init(struct targets *t, const struct profile *p, struct err *err)
{
	*t = (struct targets){ 0 };
	t->edge = edges_sorted(p, &t->nedges);
	return t->edge ? 0 : err_no_memory(err, "estimates");
}

void targets_fini(struct targets *t)
{
	free(t->edge);
	free(t->v);
	*t = (struct targets){ 0 };
}

/* Index of the first edge that leaves the site or a later one. */
static size_t edge_from(const struct targets *t, struct site_id from)
{
	return search_first(i, 0, t->nedges, site_id_order(t->edge[i]->key.from, from) >= 0);
}

/* The mean weight of one occurrence of the value. */
static double weight_of(const struct hot_value *v, unsigned n, uint64_t to, double mean)
{
	double count = 0, weight = 0;

	for (unsigned i = 0; i < n; i++)
		if (!((v[i].value ^ to) & PAGE_BITS)) {
			count += v[i].count;
			weight += v[i].weight;
		}
	return count > 0 ? weight / count : mean;
}

static int add(struct targets *t, struct site_id to, double weight)
{
	if (!array_reserve(t->v, t->cap, t->n + 1))
		return -1;
	t->v[t->n++] = (struct target){ to, weight };
	return 0;
}

int targets_of(struct targets *t, const struct site *s, struct err *err)
{
	const struct hot *list = site_hot(s, OPERAND_TARGET);
	struct hot_value value[VALUES_MAX];
	unsigned n = list ? hot_top(list, value, VALUES_MAX) : 0;
	double mean = n && hot_total(list) ? hot_weight(list) / (double)hot_total(list) : 1;
	double sum = 0;

	t->n = 0;
	for (size_t i = edge_from(t, s->id); i < t->nedges; i++) {
		const struct edge *e = t->edge[i];
		double weight = (double)e->count * weight_of(value, n, e->key.to.addr, mean);

		if (site_id_order(e->key.from, s->id))
			break;
		if (e->key.kind != EDGE_WENT)
			continue;
		if (add(t, e->key.to, weight))
			return err_no_memory(err, "estimates");
		sum += weight;
	}
	for (size_t i = 0; i < t->n && sum > 0; i++)
		t->v[i].share /= sum;
	return 0;
}

double targets_share(const struct targets *t, uint32_t image, uint64_t start, uint64_t end)
{
	double share = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].to.image == image && t->v[i].to.addr >= start && t->v[i].to.addr < end)
			share += t->v[i].share;
	return share;
}
