/* SPDX-License-Identifier: MIT */
#include "observe/misses.h"

#include <string.h>

#include "observe/scale.h"

const char *const miss_kind_name[MISS_KIND_N] = {
#define X(id, name, what) [MISS_##id] = name,
	MISSES(X)
#undef X
};

const char *const miss_kind_what[MISS_KIND_N] = {
#define X(id, name, what) [MISS_##id] = what,
	MISSES(X)
#undef X
};

const struct misses *misses_find(const struct profile *p, struct site_id id)
{
	struct misses *m;

	HASH_FIND(hh, p->misses, &id, sizeof(id), m);
	return m;
}

struct misses *misses_get(struct profile *p, struct site_id id)
{
	struct misses *m;

	HASH_FIND(hh, p->misses, &id, sizeof(id), m);
	if (m)
		return m;
	m = rows_new(&p->miss_rows, sizeof(*m));
	if (!m)
		return NULL;
	m->key = id;
	HASH_ADD(hh, p->misses, key, sizeof(m->key), m);
	return m->hh.tbl ? m : NULL;
}

/* Parts of a run that are added one by one have nothing of most sites. */
static bool is_nothing(const struct misses *s)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < MISS_KIND_N; i++)
		any |= s->n[i];
	return !any;
}

static struct misses *in_other(struct profile *dst, const struct misses *s, const uint32_t *map)
{
	return misses_get(dst, (struct site_id){ .image = map[s->key.image], .addr = s->key.addr });
}

int misses_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	for (const struct misses *s = src->misses; s; s = s->hh.next) {
		struct misses *d = is_nothing(s) ? NULL : in_other(dst, s, map);

		if (!d && !is_nothing(s))
			return -1;
		for (unsigned i = 0; d && i < MISS_KIND_N; i++)
			d->n[i] += s->n[i];
	}
	return 0;
}

int misses_move(struct profile *dst, struct profile *src, const uint32_t *map, double factor)
{
	for (struct misses *s = src->misses; s; s = s->hh.next) {
		struct misses *d;

		if (is_nothing(s))
			continue;
		d = in_other(dst, s, map);
		if (!d)
			return -1;
		for (unsigned i = 0; i < MISS_KIND_N; i++)
			d->n[i] += scaled(s->n[i], factor);
		memset(s->n, 0, sizeof(s->n));
	}
	return 0;
}

void misses_free(struct profile *p)
{
	HASH_CLEAR(hh, p->misses);
	rows_free(&p->miss_rows);
}
