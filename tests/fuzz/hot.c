/* SPDX-License-Identifier: MIT */
/* Any bytes as hot lists: read, written, merged, filled; bounds stay in order. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/columns.h"
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

/* The list as columns, read again. */
static struct hot *again(const struct hot *h)
{
	struct columns c = { .n = HOT_COLUMNS };
	struct cursor column[HOT_COLUMNS];
	struct buffer b = { 0 };
	struct hot *g;
	struct err err;

	if (!hot_encode(h, HOT_ALL, c.of) || !columns_join(&c, &b) ||
	    !columns_split(column, HOT_COLUMNS, b.p, b.n))
		abort();
	g = hot_decode(column, &err);
	if (!g || hot_total(g) != hot_total(h) || !columns_ended(column, HOT_COLUMNS))
		abort();
	columns_fini(&c);
	free(b.p);
	return g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor column[HOT_COLUMNS];
	struct hot *h, *g, *other;
	struct err err;

	if (!columns_split(column, HOT_COLUMNS, data, size))
		return 0;
	h = hot_decode(column, &err);
	if (!h)
		return 0;
	check(h);
	g = again(h);
	other = hot_decode(column, &err); /* a second one behind it */
	if (other && !hot_merge(g, other))
		check(g);
	hot_merge(h, g);
	for (int i = 0; i < 40; i++)
		hot_add(h, (uint64_t)i * 77, 1);
	check(h);
	hot_free(h);
	hot_free(g);
	hot_free(other);
	return 0;
}
