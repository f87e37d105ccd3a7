/* SPDX-License-Identifier: MIT */
/* Any bytes as hot lists: read, written, merged, filled; bounds stay in order. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sketch/hot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hot *h)
{
	struct hot_value v[8];
	unsigned n = hot_top(h, v, 8);

	for (unsigned i = 0; i < n; i++)
		if (!(v[i].low <= v[i].count && v[i].count <= v[i].high))
			abort();
	if (!(hot_rest_bound(h) >= 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hot *h, *g, *other;
	struct err err;
	uint8_t *again;
	size_t used, rest;

	h = hot_decode(data, size, &used, &err);
	if (!h)
		return 0;
	if (used > size)
		abort();
	check(h);
	again = malloc(hot_encoded_max(h));
	g = hot_decode(again, hot_encode(h, again), &rest, &err);
	if (!g || hot_total(g) != hot_total(h))
		abort();
	other = hot_decode(data + used, size - used, &rest, &err); /* a second one behind it */
	if (other && !hot_merge(g, other))
		check(g);
	hot_merge(h, g);
	for (int i = 0; i < 40; i++)
		hot_add(h, (uint64_t)i * 77, 1);
	check(h);
	hot_free(h);
	hot_free(g);
	hot_free(other);
	free(again);
	return 0;
}
