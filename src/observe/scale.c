/* SPDX-License-Identifier: MIT */
#include "observe/scale.h"

#include <stdlib.h>

#include "observe/calls.h"
#include "observe/conflicts.h"
#include "observe/cycles.h"
#include "observe/edges.h"
#include "observe/misses.h"

static void scale(uint64_t *n, double factor)
{
	if (*n)
		*n = scaled(*n, factor);
}

static void scale_list(struct hot **h, double factor)
{
	if (*h && factor > 0 && !hot_scale(*h, factor))
		return;
	hot_free(*h); /* values beyond those in the list become unknown */
	*h = NULL;
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
		if (site_hot(s, i))
			scale_list(site_operand(s, i), factor);
}

void profile_scale(struct profile *p, double factor)
{
	struct site *s;

	if (factor == 1)
		return;
	SITES_COUNTED(&p->sites, s)
	{
		scale_site(s, factor);
		misses_scale(p, s, factor);
		cycles_scale(p, s, factor);
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
}

int profile_move(struct profile *dst, struct profile *src, double factor, struct err *err)
{
	profile_scale(src, factor);
	if (profile_merge(dst, src, err))
		return -1;
	profile_scale(src, 0);
	sites_forget_notes(&src->sites);
	return 0;
}

void profile_limit_windows(struct profile *p)
{
	struct site *site;

	SITES_COUNTED(&p->sites, site)
	{
		if ((int64_t)site->observed <= 0)
			site->windows = 0;
		else if (site->windows > site->observed)
			site->windows = site->observed;
	}
}
