/* SPDX-License-Identifier: MIT */
#include "observe/cycles.h"

#include <stdlib.h>

const char *const cycle_part_name[TIMING_PART_N] = {
#define X(id, name, what) [TIMING_##id] = name,
	TIMING_PARTS(X)
#undef X
};

const char *const cycle_part_what[TIMING_PART_N] = {
#define X(id, name, what) [TIMING_##id] = what,
	TIMING_PARTS(X)
#undef X
};

const struct cycles *cycles_find(const struct profile *p, struct site_id id)
{
	struct cycles *c;

	HASH_FIND(hh, p->cycles, &id, sizeof(id), c);
	return c;
}

struct cycles *cycles_get(struct profile *p, struct site_id id)
{
	struct cycles *c;

	HASH_FIND(hh, p->cycles, &id, sizeof(id), c);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->key = id;
	HASH_ADD(hh, p->cycles, key, sizeof(c->key), c);
	return c;
}

double cycles_total(const uint64_t n[TIMING_PART_N])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TIMING_PART_N; i++)
		sum += n[i];
	return (double)sum / TIMING_TICKS;
}

int cycles_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	struct cycles *s, *tmp;

	HASH_ITER (hh, src->cycles, s, tmp) {
		struct site_id id = { .image = map[s->key.image], .addr = s->key.addr };
		struct cycles *d = cycles_get(dst, id);

		if (!d)
			return -1;
		for (unsigned i = 0; i < TIMING_PART_N; i++)
			d->n[i] += s->n[i];
	}
	return 0;
}

void cycles_free(struct profile *p)
{
	struct cycles *c = p->cycles, *next;

	HASH_CLEAR(hh, p->cycles);
	for (; c; c = next) {
		next = c->hh.next;
		free(c);
	}
}
