/* SPDX-License-Identifier: MIT */
#include "observe/scale.h"

#include <math.h>

#include "observe/calls.h"
#include "observe/conflicts.h"
#include "observe/cycles.h"
#include "observe/edges.h"
#include "observe/misses.h"

/* Counters that are not read at the same moment may be negative for a while. */
static void scale(uint64_t *n, double factor)
{
	int64_t v = (int64_t)*n;

	if (factor == floor(factor))
		*n *= (uint64_t)factor;
	else
		*n = (uint64_t)(int64_t)llround((double)v * factor);
}

static void scale_list(struct hot **h, double factor)
{
	if (*h && factor > 0) {
		hot_scale(*h, factor);
	} else {
		hot_free(*h);
		*h = NULL;
	}
}

static void scale_site(struct site *s, double factor)
{
	scale(&s->observed, factor);
	scale(&s->taken, factor);
	if (s->taken > s->observed && (int64_t)s->observed >= 0)
		s->taken = s->observed;
	if (s->windows > s->observed || factor == 0)
		s->windows = factor > 0 ? s->observed : 0;
	for (int i = 0; i < OPERAND_N; i++)
		if (s->operand[i])
			scale_list(site_operand(s, i), factor);
}

void profile_scale(struct profile *p, double factor)
{
	struct site *s;

	if (factor == 1)
		return;
	SITES_EACH(&p->sites, s)
	{
		scale_site(s, factor);
	}
	for (struct edge *e = p->edges; e; e = e->hh.next)
		scale(&e->count, factor);
	for (struct call *c = p->calls; c; c = c->hh.next)
		for (int i = 0; i < CALL_VALUES; i++)
			scale_list(&c->value[i], factor);
	for (struct conflict *c = p->conflicts; c; c = c->hh.next) {
		scale(&c->count, factor);
		scale(&c->distance, factor);
	}
	for (struct misses *m = p->misses; m; m = m->hh.next)
		for (int i = 0; i < MISS_KIND_N; i++)
			scale(&m->n[i], factor);
	for (struct cycles *c = p->cycles; c; c = c->hh.next)
		for (int i = 0; i < TIMING_PART_N; i++)
			scale(&c->n[i], factor);
}
