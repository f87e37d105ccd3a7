/* SPDX-License-Identifier: MIT */
#include "observe/misses.h"

#include <stdlib.h>

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
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->key = id;
	HASH_ADD(hh, p->misses, key, sizeof(m->key), m);
	return m;
}

int misses_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct misses *s, *tmp;

	HASH_ITER (hh, src->misses, s, tmp) {
		struct site_id id = { .image = map[s->key.image], .addr = s->key.addr };
		struct misses *d = misses_get(dst, id);

		if (!d)
			return -1;
		for (unsigned i = 0; i < MISS_KIND_N; i++)
			d->n[i] += s->n[i];
	}
	return 0;
}

void misses_free(struct profile *p)
{
	struct misses *m = p->misses, *next;

	HASH_CLEAR(hh, p->misses);
	for (; m; m = next) {
		next = m->hh.next;
		free(m);
	}
}
