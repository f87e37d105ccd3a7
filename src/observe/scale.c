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
	hot_free(*h); /* what is left of the values is not known */
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

/* Returns the numbers in dst of src's images, which dst has already; NULL without memory. */
static uint32_t *image_map(struct profile *dst, const struct profile *src)
{
	uint32_t *map = calloc(src->nimage + 1, sizeof(*map));

	for (size_t i = 0; map && i < src->nimage; i++) {
		const struct profile_image *from = src->image[i], *to;

		to = profile_image(dst, from->kind, from->path, from->build_id);
		if (!to) {
			free(map);
			return NULL;
		}
		map[i] = to->id;
	}
	return map;
}

int profile_move(struct profile *dst, struct profile *src, double factor, struct err *err)
{
	/* sites are most of a profile: they are moved in place, in one pass */
	struct misses *misses = src->misses;
	struct cycles *cycles = src->cycles;
	uint32_t *map;
	int rc;

	src->misses = NULL;
	src->cycles = NULL;
	profile_scale(src, factor);
	rc = profile_merge(dst, src, err);
	profile_scale(src, 0);
	src->misses = misses;
	src->cycles = cycles;
	if (rc)
		return -1;
	map = image_map(dst, src);
	if (!map || misses_move(dst, src, map, factor) || cycles_move(dst, src, map, factor))
		rc = err_no_memory(err, "the sum of samples");
	free(map);
	return rc;
}

void profile_limit_windows(struct profile *p)
{
	struct site *site;

	SITES_EACH(&p->sites, site)
	{
		if ((int64_t)site->observed <= 0)
			site->windows = 0;
		else if (site->windows > site->observed)
			site->windows = site->observed;
	}
}
