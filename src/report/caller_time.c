/* SPDX-License-Identifier: MIT */
#include "report/caller_time.h"

#include <stdlib.h>

#include "base/search.h"
#include "report/place.h"

static int by_site(const void *a, const void *b)
{
	const struct called *x = a, *y = b;
	int order = site_id_order(x->site, y->site);

	return order ? order : site_id_order(x->caller, y->caller);
}

static int by_proc(const void *a, const void *b)
{
	const struct called *x = a, *y = b;
	int order = (x->proc > y->proc) - (x->proc < y->proc);

	return order ? order : site_id_order(x->caller, y->caller);
}

int caller_time_init(struct caller_time *t, const struct view *v)
{
	const struct stacks *s = &v->profile->stacks;

	*t = (struct caller_time){ .of_site = calloc(s->nsample + 1, sizeof(*t->of_site)),
				   .of_proc = calloc(s->nsample + 1, sizeof(*t->of_proc)),
				   .proc = calloc(v->nproc + 1, sizeof(*t->proc)) };
	if (!t->of_site || !t->of_proc || !t->proc)
		return -1;
	for (size_t i = 0; i < s->nsample; i++) {
		const struct frame *f = &s->frame[s->sample[i].frame], *by = &s->frame[f->parent];
		struct called one = { .site = { .image = f->image, .addr = f->addr },
				      .caller = { .image = by->image, .addr = by->addr },
				      .time = s->sample[i].time };
		size_t at = f->kind == FRAME_CODE && by->kind == FRAME_CALL
				    ? place_index(v, one.site)
				    : SIZE_MAX;

		if (at == SIZE_MAX)
			continue;
		one.proc = v->proc_of[at];
		t->proc[one.proc] += one.time;
		t->of_site[t->n] = t->of_proc[t->n] = one;
		t->n++;
	}
	qsort(t->of_site, t->n, sizeof(*t->of_site), by_site);
	qsort(t->of_proc, t->n, sizeof(*t->of_proc), by_proc);
	return 0;
}

void caller_time_fini(struct caller_time *t)
{
	free(t->of_site);
	free(t->of_proc);
	free(t->proc);
}

double caller_time_of_site(const struct caller_time *t, struct site_id site, struct site_id caller)
{
	size_t i = search_first(k, 0, t->n, site_id_order(t->of_site[k].site, site) >= 0);
	double all = 0, part = 0;

	for (; i < t->n && !site_id_order(t->of_site[i].site, site); i++) {
		all += t->of_site[i].time;
		if (!site_id_order(t->of_site[i].caller, caller))
			part += t->of_site[i].time;
	}
	return all > 0 ? part / all : -1;
}

double caller_time_of_proc(const struct caller_time *t, uint32_t proc, struct site_id caller)
{
	struct called key = { .proc = proc, .caller = caller };
	size_t i = search_first(k, 0, t->n, by_proc(&t->of_proc[k], &key) >= 0);
	double part = 0;

	for (; i < t->n && !by_proc(&t->of_proc[i], &key); i++)
		part += t->of_proc[i].time;
	return t->proc[proc] > 0 ? part / t->proc[proc] : -1;
}
