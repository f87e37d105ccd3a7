/* SPDX-License-Identifier: MIT */
/*
 * Numbers in blobs: 7 bits a byte, least first, the high bit on all but the last byte (LEB128).
 */
#ifndef ASSAY_BASE_VARINT_H
#define ASSAY_BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct buffer {
	uint8_t *p;
	size_t n, cap;
};

#define VARINT_MAX 10 /* bytes of the longest number */
#define COUNT_MAX \
	(INT64_MAX / 4) /* largest count that is accepted: sums of a few counts do not overflow */

/* Makes room for n more bytes. */
static inline bool buffer_room(struct buffer *b, size_t n)
{
	return array_reserve(b->p, b->cap, b->n + n);
}

/* Appends a number; the caller has made room. */
static inline void varint_put(struct buffer *b, uint64_t v)
{
	while (v >= 0x80) {
		b->p[b->n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	b->p[b->n++] = (uint8_t)v;
}

/* Reads numbers from untrusted bytes. */
struct cursor {
	const uint8_t *p, *end;
};

static inline bool varint_get(struct cursor *c, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
