/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The run-ahead interpreter's memory: a private store buffer in front of the thread's memory. */
#ifndef ASSAY_RUNAHEAD_MEMORY_H
#define ASSAY_RUNAHEAD_MEMORY_H

#include "base/hash.h"
#include "runahead/flags.h"

/* Results of an access that ends a window. */
#define RA_UNREADABLE -1
#define RA_NO_ROOM -1
#define RA_FAULTS -2

/* Whether some of the bytes from addr on are outside user space: not canonical, or the kernel's. */
RA_INLINE bool ra_not_users(uint64_t addr, uint32_t bytes)
{
	return (addr | (addr + bytes - 1)) >> RA_ADDR_BITS;
}

/* Returns the slot of a word: the one that holds it, else a free one if `take` is set, else
 * NULL. */
RA_INLINE struct ra_slot *ra_sb_find(struct ra_state *s, uint64_t word, bool take)
{
	uint64_t gen = (uint64_t)s->gen << RA_SB_GEN_SHIFT, key = gen | word;
	uint32_t h = (uint32_t)hash_bits(word, RA_SB_BITS);

	invariant(s->gen && s->gen <= RA_SB_GEN_MAX && !(word >> RA_SB_GEN_SHIFT));
	RA_UNROLL
	for (uint32_t i = 0; i < RA_SB_PROBES; i++) {
		struct ra_slot *e = &s->sb[(h + i) & (RA_SB_SLOTS - 1)];

		if (e->key == key)
			return e;
		if ((e->key ^ key) >> RA_SB_GEN_SHIFT) {
			if (!take)
				return 0;
			e->key = key;
			e->valid = 0;
			e->unknown = 0;
			e->data = 0;
			return e;
		}
	}
	return 0;
}

#define RA_SB_CLEARED 32 /* slots that are cleared at a time */

/* The verifier follows each turn of a loop, but looks at this function once. */
RA_HELPER int ra_sb_clear(struct ra_state *s, uint32_t from)
{
	RA_NULL(s);
	for (uint32_t i = 0; i < RA_SB_CLEARED; i++)
		s->sb[(from + i) & (RA_SB_SLOTS - 1)].key = 0;
	return 0;
}

/* Begins a new window: older entries of the buffer have another generation. When generations
 * wrap around, the buffer is cleared. */
RA_HELPER int ra_sb_begin(struct ra_state *s)
{
	RA_NULL(s);
	s->bloom = 0;
	s->gen++;
	if (s->gen <= RA_SB_GEN_MAX)
		return 0;
	for (uint32_t i = 0; i < RA_SB_SLOTS; i += RA_SB_CLEARED)
		ra_sb_clear(s, i);
	for (uint32_t i = 0; i < RA_LINES; i++)
		s->line[i].tag = 0;
	s->gen = 1;
	return 0;
}

/* Whether the line of addr is in memory that must not be read. */
RA_HELPER int ra_keep_off(struct ra_state *s, uint64_t addr)
{
	uint64_t line = addr & ~(uint64_t)(RA_LINE_BYTES - 1);
	int hit = 0;

	RA_NULL(s);
	for (uint32_t i = 0; i < RA_KEEP_OFF; i++)
		if (i < s->nkeep_off && line < s->keep_off[i].end &&
		    line + 2 * RA_LINE_BYTES > s->keep_off[i].start)
			hit = 1;
	return hit;
}

/* Reads up to 8 bytes of the thread's memory. Non-zero if it is not readable. */
RA_INLINE int ra_read(struct ra_state *s, uint64_t addr, uint32_t bytes, uint64_t *val)
{
	uint64_t line = addr / RA_LINE_BYTES, tag = (uint64_t)s->gen << RA_LINE_GEN_SHIFT | line;
	uint32_t off = (uint32_t)addr & (RA_LINE_BYTES - 1), sh = (off & 7) * 8, i = off / 8;
	struct ra_line *l = &s->line[line & (RA_LINES - 1)];

	invariant(bytes && bytes <= 8 && !(line >> RA_LINE_GEN_SHIFT));
	if (s->nkeep_off && ra_keep_off(s, addr))
		return -1;
	if (off + bytes > RA_LINE_BYTES)
		return ra_read_user(addr, bytes, val);
	if (l->tag != tag) {
		l->tag = 0;
		if (ra_read_line(line * RA_LINE_BYTES, l->data))
			return ra_read_user(addr, bytes, val);
		l->tag = tag;
	}
	*val = l->data[i & 7] >> sh | l->data[(i + 1) & 7] << 1 << (63 - sh);
	return 0;
}

/* Loads a value into s->aux. Returns 0: known, 1: unknown, RA_UNREADABLE, or RA_FAULTS. */
RA_HELPER int ra_load(struct ra_state *s, uint64_t addr, uint32_t w)
{
	uint64_t m = ra_mask(w & 3), word = addr >> 3, v = 0, valid = 0, unknown = 0, mem = 0;
	uint32_t sh = (uint32_t)(addr & 7) * 8, bytes = 1u << (w & 3);
	const struct ra_slot *e;

	RA_NULL(s);
	if (ra_not_users(addr, bytes))
		return RA_FAULTS;
	if (s->bloom >> (word & 63) & 1) {
		e = ra_sb_find(s, word, false);
		if (e) {
			invariant(!(e->unknown & ~e->valid));
			v = e->data >> sh;
			valid = e->valid >> sh;
			unknown = e->unknown >> sh;
		}
	}
	if (sh + bytes * 8 > 64 && (s->bloom >> ((word + 1) & 63) & 1)) {
		e = ra_sb_find(s, word + 1, false);
		if (e) {
			invariant(sh && !(e->unknown & ~e->valid));
			v |= e->data << (64 - sh);
			valid |= e->valid << (64 - sh);
			unknown |= e->unknown << (64 - sh);
		}
	}
	valid &= m;
	if (valid != m && ra_read(s, addr, bytes, &mem))
		return RA_UNREADABLE;
	s->aux = ((v & valid) | (mem & ~valid)) & m;
	return (unknown & m) != 0;
}

/* Stores the bits of data that are set in `bits`; those that are also in `known` are known. */
RA_INLINE int ra_sb_put(struct ra_state *s, uint64_t word, uint64_t data, uint64_t bits,
			uint64_t known)
{
	struct ra_slot *e = ra_sb_find(s, word, true);

	invariant(bits);
	if (!e)
		return RA_NO_ROOM;
	e->data = (e->data & ~bits) | (data & bits);
	e->valid |= bits;
	e->unknown = (e->unknown | bits) & ~(bits & known);
	invariant(!(e->unknown & ~e->valid) && !(e->unknown & bits & known));
	s->bloom |= 1ull << (word & 63);
	return 0;
}

/* Stores s->aux. Returns 0, RA_NO_ROOM, or RA_FAULTS. w: width; bit 2: the value is unknown. */
RA_HELPER int ra_store(struct ra_state *s, uint64_t addr, uint32_t w)
{
	uint64_t known = (uint64_t)(w >> 2 & 1) - 1;
	uint64_t m = ra_mask(w & 3), word = addr >> 3, v;
	uint32_t sh = (uint32_t)(addr & 7) * 8, bits = 8u << (w & 3);

	RA_NULL(s);
	v = s->aux & m;
	if (ra_not_users(addr, bits / 8))
		return RA_FAULTS;
	if (ra_sb_put(s, word, v << sh, m << sh, known))
		return RA_NO_ROOM;
	if (sh + bits > 64)
		return ra_sb_put(s, word + 1, v >> (64 - sh), m >> (64 - sh), known);
	return 0;
}

#endif
