/* SPDX-License-Identifier: MIT */
/* Any bytes as a hot list. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sketch/hot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hot *h, *g;
	struct hot_value v[8];
	struct err err;
	uint8_t *again;
	size_t used;

	h = hot_decode(data, size, &used, &err);
	if (!h)
		return 0;
	if (used > size)
		abort();
	hot_top(h, v, 8);
	again = malloc(hot_encoded_max(h));
	g = hot_decode(again, hot_encode(h, again), &used, &err);
	if (!g || hot_total(g) != hot_total(h))
		abort();
	hot_merge(h, g);
	for (int i = 0; i < 40; i++)
		hot_add(h, (uint64_t)i * 77, 1);
	hot_top(h, v, 8);
	hot_free(h);
	hot_free(g);
	free(again);
	return 0;
}
