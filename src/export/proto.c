/* SPDX-License-Identifier: MIT */
#include "export/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	VARINT = 0,
	BYTES = 2
};

static void put(struct proto *m, const void *p, size_t n)
{
	if (m->failed)
		return;
	if (!array_reserve(m->p, m->room, m->n + n)) {
		m->failed = true;
		return;
	}
	memcpy(m->p + m->n, p, n);
	m->n += n;
}

static void put_varint(struct proto *m, uint64_t v)
{
	uint8_t text[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		text[n++] = (uint8_t)(v | 0x80);
	text[n++] = (uint8_t)v;
	put(m, text, n);
}

static void put_key(struct proto *m, unsigned field, unsigned type)
{
	put_varint(m, (uint64_t)field << 3 | type);
}

void proto_fini(struct proto *m)
{
	free(m->p);
	*m = (struct proto){ 0 };
}

void proto_uint(struct proto *m, unsigned field, uint64_t v)
{
	if (!v)
		return;
	put_key(m, field, VARINT);
	put_varint(m, v);
}

void proto_element(struct proto *m, unsigned field, const char *s, size_t n)
{
	put_key(m, field, BYTES);
	put_varint(m, n);
	put(m, s, n);
}

void proto_packed(struct proto *m, unsigned field, const uint64_t *v, size_t n)
{
	struct proto inner = { 0 };

	for (size_t i = 0; i < n; i++)
		put_varint(&inner, v[i]);
	if (n)
		proto_message(m, field, &inner);
	proto_fini(&inner);
}

void proto_message(struct proto *m, unsigned field, struct proto *inner)
{
	m->failed |= inner->failed;
	proto_element(m, field, inner->n ? (const char *)inner->p : "", inner->n);
	inner->n = 0;
}
