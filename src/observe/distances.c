/* SPDX-License-Identifier: MIT */
#include "observe/distances.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/keyed.h"

uint64_t distance_of_bucket(unsigned b)
{
	return b < 32 ? b : (uint64_t)(16 + (b - 32) % 16) << ((b - 32) / 16 + 1);
}

uint64_t distance_of_octave(unsigned o)
{
	return o ? 1ull << (o - 1) : 0;
}

struct distances *distances_new(struct profile *p)
{
	struct distances *d =
		array_one_more(p->distances, p->ndistances) ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return NULL;
	p->distances[p->ndistances++] = d;
	return d;
}

uint64_t distances_total(const struct distances *d)
{
	uint64_t n = d->cold;

	for (unsigned i = 0; i < DISTANCE_BUCKETS; i++)
		n += d->bucket[i];
	return n;
}

struct site_distances *distances_site(struct profile *p, struct site_id id)
{
	return keyed_get(p->site_distances, key, &id);
}

int distances_merge(struct profile *dst, const struct profile *src, const uint32_t *map)
{
	uint32_t runs = (uint32_t)dst->nrun;
	struct site_distances *s, *tmp;

	for (size_t i = 0; i < src->ndistances; i++) {
		struct distances *d = distances_new(dst);

		if (!d)
			return -1;
		*d = *src->distances[i];
		d->run += runs;
	}
	HASH_ITER (hh, src->site_distances, s, tmp) {
		struct site_id id = { .image = map[s->key.image], .addr = s->key.addr };
		struct site_distances *d = distances_site(dst, id);

		if (!d)
			return -1;
		d->cold += s->cold;
		for (unsigned i = 0; i < DISTANCE_OCTAVES; i++)
			d->octave[i] += s->octave[i];
	}
	return 0;
}

void distances_free(struct profile *p)
{
	struct site_distances *s = p->site_distances, *next;

	for (size_t i = 0; i < p->ndistances; i++)
		free(p->distances[i]);
	free(p->distances);
	HASH_CLEAR(hh, p->site_distances);
	for (; s; s = next) {
		next = s->hh.next;
		free(s);
	}
}
