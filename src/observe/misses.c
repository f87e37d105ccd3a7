/* SPDX-License-Identifier: MIT */
#include "observe/misses.h"

#include <string.h>

#include "observe/scale.h"

const char *const miss_kind_name[MISS_KIND_N] = {
#define X(id, name, what) [MISS_##id] = name,
	MISSES(X)
#undef X
};

const struct misses *misses_row(const struct profile *p, const struct site *s)
{
	return (const struct misses *)rows_find(&p->misses, s->number, MISS_KIND_N);
}

const struct misses *misses_find(const struct profile *p, struct site_id id)
{
	const struct site *s = profile_site_find(p, id);

	return s ? misses_row(p, s) : NULL;
}

struct misses *misses_at(struct profile *p, const struct site *s)
{
	return (struct misses *)rows_get(&p->misses, s->number, MISS_KIND_N);
}

struct misses *misses_get(struct profile *p, struct site_id id)
{
	const struct site *s = profile_site(p, id);

	return s ? misses_at(p, s) : NULL;
}

int misses_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	const struct site *s;

	SITES_COUNTED(&src->sites, s)
	{
		const struct misses *from = misses_row(src, s);
		struct site_id id = { .image = map[s->id.image], .addr = s->id.addr };
		struct misses *to = from ? misses_get(dst, id) : NULL;

		if (from && !to)
			return -1;
		for (unsigned i = 0; from && i < MISS_KIND_N; i++)
			to->n[i] += from->n[i];
	}
	return 0;
}

void misses_scale(struct profile *p, const struct site *s, double factor)
{
	struct misses *at = (struct misses *)rows_find(&p->misses, s->number, MISS_KIND_N);

	for (unsigned i = 0; at && i < MISS_KIND_N; i++)
		at->n[i] = scaled(at->n[i], factor);
}

void misses_free(struct profile *p)
{
	rows_free(&p->misses);
}
