/* SPDX-License-Identifier: MIT */
#include "observe/cycles.h"

#include <string.h>

#include "observe/scale.h"

const char *const cycle_part_name[TIMING_PART_N] = {
#define X(id, name, what) [TIMING_##id] = name,
	TIMING_PARTS(X)
#undef X
};

const struct cycles *cycles_row(const struct profile *p, const struct site *s)
{
	return (const struct cycles *)rows_find(&p->cycles, s->number, TIMING_PART_N);
}

const struct cycles *cycles_find(const struct profile *p, struct site_id id)
{
	const struct site *s = profile_site_find(p, id);

	return s ? cycles_row(p, s) : NULL;
}

struct cycles *cycles_at(struct profile *p, const struct site *s)
{
	return (struct cycles *)rows_get(&p->cycles, s->number, TIMING_PART_N);
}

struct cycles *cycles_get(struct profile *p, struct site_id id)
{
	const struct site *s = profile_site(p, id);

	return s ? cycles_at(p, s) : NULL;
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
	const struct site *s;

	SITES_COUNTED(&src->sites, s)
	{
		const struct cycles *from = cycles_row(src, s);
		struct site_id id = { .image = map[s->id.image], .addr = s->id.addr };
		struct cycles *to = from ? cycles_get(dst, id) : NULL;

		if (from && !to)
			return -1;
		for (unsigned i = 0; from && i < TIMING_PART_N; i++)
			to->n[i] += from->n[i];
	}
	return 0;
}

void cycles_scale(struct profile *p, const struct site *s, double factor)
{
	struct cycles *at = (struct cycles *)rows_find(&p->cycles, s->number, TIMING_PART_N);

	for (unsigned i = 0; at && i < TIMING_PART_N; i++)
		at->n[i] = scaled(at->n[i], factor);
}

void cycles_free(struct profile *p)
{
	rows_free(&p->cycles);
}
