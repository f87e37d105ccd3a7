/* SPDX-License-Identifier: MIT */
#include "base/columns.h"

#include <stdlib.h>
#include <string.h>

size_t columns_size(const struct columns *c)
{
	size_t sum = 0;

	for (unsigned i = 0; i < c->n; i++)
		sum += c->of[i].n;
	return sum;
}

bool columns_lengths(const struct columns *c, struct buffer *to)
{
	if (!buffer_room(to, c->n * VARINT_MAX))
		return false;
	for (unsigned i = 0; i < c->n; i++)
		varint_put(to, c->of[i].n);
	return true;
}

void columns_empty(struct columns *c)
{
	for (unsigned i = 0; i < c->n; i++)
		c->of[i].n = 0;
}

bool columns_join(struct columns *c, struct buffer *to)
{
	if (!columns_lengths(c, to) || !buffer_room(to, columns_size(c)))
		return false;
	for (unsigned i = 0; i < c->n; i++) {
		if (c->of[i].n)
			memcpy(to->p + to->n, c->of[i].p, c->of[i].n);
		to->n += c->of[i].n;
	}
	columns_empty(c);
	return true;
}

void columns_fini(struct columns *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->of[i].p);
	*c = (struct columns){ .n = c->n };
}

bool columns_split(struct cursor *of, unsigned n, const uint8_t *p, size_t size)
{
	struct cursor lengths = { p, p + size }, rest = { p, p + size };
	uint64_t length;

	for (unsigned i = 0; i < n; i++)
		if (!varint_get(&rest, &length))
			return false;
	for (unsigned i = 0; i < n; i++) {
		if (!varint_get(&lengths, &length) || length > (size_t)(rest.end - rest.p))
			return false;
		of[i] = (struct cursor){ rest.p, rest.p + length };
		rest.p += length;
	}
	return rest.p == rest.end;
}

bool columns_ended(const struct cursor *of, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (of[i].p < of[i].end)
			return false;
	return true;
}
