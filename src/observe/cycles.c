/* SPDX-License-Identifier: MIT */
#include "observe/cycles.h"

#include <string.h>

#include "observe/scale.h"

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
	c = rows_new(&p->cycle_rows, sizeof(*c));
	if (!c)
		return NULL;
	c->key = id;
	HASH_ADD(hh, p->cycles, key, sizeof(c->key), c);
	return c->hh.tbl ? c : NULL;
}

double cycles_total(const uint64_t n[TIMING_PART_N])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TIMING_PART_N; i++)
		sum += n[i];
	return (double)sum / TIMING_TICKS;
}

/* Parts of a run that are added one by one have nothing of most sites. */
static bool is_nothing(const struct cycles *s)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < TIMING_PART_N; i++)
		any |= s->n[i];
	return !any;
}

static struct cycles *in_other(struct profile *dst, const struct cycles *s, const uint32_t *map)
{
	return cycles_get(dst, (struct site_id){ .image = map[s->key.image], .addr = s->key.addr });
}

int cycles_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	for (const struct cycles *s = src->cycles; s; s = s->hh.next) {
		struct cycles *d = is_nothing(s) ? NULL : in_other(dst, s, map);

		if (!d && !is_nothing(s))
			return -1;
		for (unsigned i = 0; d && i < TIMING_PART_N; i++)
			d->n[i] += s->n[i];
	}
	return 0;
}

int cycles_move(struct profile *dst, struct profile *src, const uint32_t *map, double factor)
{
	for (struct cycles *s = src->cycles; s; s = s->hh.next) {
		struct cycles *d;

		if (is_nothing(s))
			continue;
		d = in_other(dst, s, map);
		if (!d)
			return -1;
		for (unsigned i = 0; i < TIMING_PART_N; i++)
			d->n[i] += scaled(s->n[i], factor);
		memset(s->n, 0, sizeof(s->n));
	}
	return 0;
}

void cycles_free(struct profile *p)
{
	HASH_CLEAR(hh, p->cycles);
	rows_free(&p->cycle_rows);
}
