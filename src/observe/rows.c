/* SPDX-License-Identifier: MIT */
#include "observe/rows.h"

#include <stdlib.h>
#include <string.h>

#include "observe/sites.h"

static bool add_chunks(struct site_rows *r, size_t chunks)
{
	size_t n = r->chunks ? r->chunks : 1;
	uint64_t **list;

	while (n < chunks)
		n *= 2;
	list = realloc((void *)r->chunk, n * sizeof(*list));
	if (!list)
		return false;
	memset((void *)(list + r->chunks), 0, (n - r->chunks) * sizeof(*list));
	r->chunk = list;
	r->chunks = n;
	return true;
}

uint64_t *rows_get(struct site_rows *r, size_t site, unsigned n)
{
	size_t i = site / SITES_CHUNK;

	if (i >= r->chunks && !add_chunks(r, i + 1))
		return NULL;
	if (!r->chunk[i])
		r->chunk[i] = calloc(SITES_CHUNK, n * sizeof(**r->chunk));
	return r->chunk[i] ? r->chunk[i] + site % SITES_CHUNK * n : NULL;
}

uint64_t *rows_find(const struct site_rows *r, size_t site, unsigned n)
{
	size_t i = site / SITES_CHUNK;
	uint64_t any = 0, *row;

	if (i >= r->chunks || !r->chunk[i])
		return NULL;
	row = r->chunk[i] + site % SITES_CHUNK * n;
	for (unsigned k = 0; k < n; k++)
		any |= row[k];
	return any ? row : NULL;
}

void rows_free(struct site_rows *r)
{
	for (size_t i = 0; i < r->chunks; i++)
		free(r->chunk[i]);
	free((void *)r->chunk);
	*r = (struct site_rows){ 0 };
}
