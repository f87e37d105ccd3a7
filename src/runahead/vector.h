/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The run-ahead interpreter's vector registers. Bytes that a window has set itself are known.
 *
 * "Bits" of a vector are a word with a bit for each of its bytes; "elements' bits" are a word with
 * a bit for each element, as in mask registers.
 */
#ifndef ASSAY_RUNAHEAD_VECTOR_H
#define ASSAY_RUNAHEAD_VECTOR_H

#include "runahead/memory.h"

/* The known bytes of a register, or bits of a mask register. */
RA_INLINE uint64_t ra_v_known(const struct ra_state *s, uint32_t i)
{
	return s->vknown[i & (UV_N - 1)] & -(s->vlive >> (i & (UV_N - 1)) & 1);
}

RA_INLINE void ra_v_set_known(struct ra_state *s, uint32_t i, uint64_t known)
{
	invariant(i < UV_N);
	s->vknown[i & (UV_N - 1)] = known;
	s->vlive |= 1ull << (i & (UV_N - 1));
}

/* The low n bits, n from 0 to 64. */
RA_INLINE uint64_t ra_v_low(uint32_t n)
{
	return n > 63 ? ~0ull : (1ull << (n & 63)) - 1;
}

/*
 * A table indexed by e, the log2 of an element's bytes: the first bit of each group of bits of an
 * element, then the elements' top bits. It is a table because the verifier would follow each way to
 * a constant separately, to the end of its use. It has 64 bytes because clang 14 computes wrong
 * addresses of smaller tables.
 */
static const uint64_t ra_v_of_element[8] = {
	~0ull,
	0x5555555555555555ull,
	0x1111111111111111ull,
	0x0101010101010101ull,
	0x8080808080808080ull,
	0x8000800080008000ull,
	0x8000000080000000ull,
	0x8000000000000000ull,
};

/* Bit 0 of each group of 1 << e bits. */
RA_INLINE uint64_t ra_v_firsts(uint32_t e)
{
	return ra_v_of_element[e & 3];
}

/* The bits of those elements that have all their bits. */
RA_INLINE uint64_t ra_v_whole(uint64_t bits, uint32_t e)
{
	/* shifts by 1 if e > 0, by 2 if e > 1, and so on */
	bits &= bits >> (0x1110 >> 4 * (e & 3) & 1);
	bits &= bits >> (0x2200 >> 4 * (e & 3) & 2);
	bits &= bits >> (0x4000 >> 4 * (e & 3) & 4);
	return (bits & ra_v_firsts(e)) * ((1ull << (1u << (e & 3))) - 1);
}

/* Packs a vector's bits to elements' bits, taking the first bit of each element. */
RA_INLINE uint64_t ra_v_pack(uint64_t x, uint32_t e)
{
	for (uint32_t i = 0; i < 3; i++) {
		if (i >= e)
			break;
		x &= 0x5555555555555555ull;
		x = (x | x >> 1) & 0x3333333333333333ull;
		x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0full;
		x = (x | x >> 4) & 0x00ff00ff00ff00ffull;
		x = (x | x >> 8) & 0x0000ffff0000ffffull;
		x = (x | x >> 16) & 0xffffffffull;
	}
	return x;
}

/* Spreads elements' bits to a vector's bits. */
RA_INLINE uint64_t ra_v_spread(uint64_t x, uint32_t e)
{
	for (uint32_t i = 0; i < 3; i++) {
		if (i >= e)
			break;
		x &= 0xffffffffull;
		x = (x | x << 16) & 0x0000ffff0000ffffull;
		x = (x | x << 8) & 0x00ff00ff00ff00ffull;
		x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
		x = (x | x << 2) & 0x3333333333333333ull;
		x = (x | x << 1) & 0x5555555555555555ull;
		x |= x << 1;
	}
	return x;
}

/* Packs the top bits of 8 bytes; and expands 8 bits to bytes of all ones. */
RA_INLINE uint64_t ra_v_tops(uint64_t lane)
{
	return (lane >> 7 & 0x0101010101010101ull) * 0x0102040810204080ull >> 56;
}

RA_INLINE uint64_t ra_v_bytes(uint64_t bits)
{
	uint64_t x = (bits & 0xff) * 0x0101010101010101ull & 0x8040201008040201ull;

	return ((x + 0x7f7f7f7f7f7f7f7full) >> 7 & 0x0101010101010101ull) * 0xff;
}

/* Elements within 8 bytes. */
struct ra_v_element {
	uint64_t high; /* the top bit of each element */
	uint64_t ones; /* all bits of the first element */
	uint32_t top;  /* number of its top bit */
};

RA_INLINE struct ra_v_element ra_v_element(uint32_t e)
{
	struct ra_v_element x;

	e &= 3;
	x.top = (8u << e) - 1;
	x.ones = ~0ull >> (63 - x.top);
	x.high = ra_v_of_element[4 + e];
	return x;
}

/* Fills the elements of x whose top bits are set with ones; x has no other bits. */
RA_INLINE uint64_t ra_v_fill(uint64_t x, struct ra_v_element k)
{
	return (x >> k.top) * k.ones;
}

RA_INLINE uint64_t ra_v_sum(uint64_t a, uint64_t b, struct ra_v_element k)
{
	return ((a & ~k.high) + (b & ~k.high)) ^ ((a ^ b) & k.high);
}

RA_INLINE uint64_t ra_v_difference(uint64_t a, uint64_t b, struct ra_v_element k)
{
	return ((a | k.high) - (b & ~k.high)) ^ ((a ^ ~b) & k.high);
}

/* All ones in elements where a == b, and where a < b, unsigned. */
RA_INLINE uint64_t ra_v_equal(uint64_t a, uint64_t b, struct ra_v_element k)
{
	uint64_t x = a ^ b;

	return ra_v_fill(~(((x & ~k.high) + ~k.high) | x) & k.high, k);
}

RA_INLINE uint64_t ra_v_below(uint64_t a, uint64_t b, struct ra_v_element k)
{
	uint64_t d = ra_v_difference(a, b, k);

	return ra_v_fill(((~a & b) | (~(a ^ b) & d)) & k.high, k);
}

/* Computes bitwise bit (2 x + y) of the table, and which bits of the result are known, from
 * those known of x and y. */
RA_INLINE uint64_t ra_v_by_table(uint64_t x, uint64_t y, uint32_t table)
{
	return (~x & ~y & -(uint64_t)(table & 1)) | (~x & y & -(uint64_t)(table >> 1 & 1)) |
	       (x & ~y & -(uint64_t)(table >> 2 & 1)) | (x & y & -(uint64_t)(table >> 3 & 1));
}

RA_INLINE uint64_t ra_v_table_known(uint64_t kx, uint64_t ky, uint32_t table)
{
	/* the result may not depend on one of them, or on either */
	kx |= -(uint64_t)((table >> 2 & 3) == (table & 3));
	ky |= -(uint64_t)((table >> 1 & 5) == (table & 5));
	return kx & ky;
}

/* The effect of a mask on a vector: the bits to be written, and the bits for which the mask is
 * unknown. */
struct ra_v_mask {
	uint64_t take, unsure;
};

RA_INLINE struct ra_v_mask ra_v_mask(const struct ra_state *s, uint32_t c)
{
	uint32_t e = c >> 4 & 3, k = UV_K0 + (c & 7);
	struct ra_v_mask m = { ~0ull, 0 };
	uint64_t known;

	if (!(c & 7))
		return m;
	known = ra_v_known(s, k);
	m.take = ra_v_spread(s->v[k & (UV_N - 1)][0] & known, e);
	m.unsure = ra_v_spread(~known, e);
	return m;
}

/*
 * Moves the bytes of UV_OUT that are in `size` to register dst; those in `known` are known. how: c,
 * and UV_KEEP or UV_INSERT.
 */
RA_HELPER int ra_v_commit(struct ra_state *s, uint32_t dst, uint64_t size, uint64_t known,
			  uint32_t how)
{
	uint64_t sel, old, x, clear = ~size;
	struct ra_v_mask m;

	RA_NULL(s);
	invariant(dst < UV_N && dst != UV_OUT);
	dst &= UV_N - 1;
	m = ra_v_mask(s, how);
	invariant(!(m.take & m.unsure));
	old = ra_v_known(s, dst);
	if (how & UV_KEEP)
		clear &= 0xffff;
	if (how & UV_INSERT)
		clear = 0;
	if (how & UC_ZEROING)
		clear |= size & ~m.take & ~m.unsure;
	sel = size & m.take;
	ra_v_set_known(s, dst, ((known & sel) | (old & ~sel) | clear) & ~(size & m.unsure));
	for (uint32_t i = 0; i < 8; i++) {
		x = sel >> (8 * i) & 0xff;
		if (x == 0xff) {
			s->v[dst][i] = s->v[UV_OUT][i];
			continue;
		}
		if (!x && !(clear >> (8 * i) & 0xff))
			continue;
		x = ra_v_bytes(sel >> (8 * i));
		s->v[dst][i] =
			(s->v[UV_OUT][i] & x) | (s->v[dst][i] & ~x & ~ra_v_bytes(clear >> (8 * i)));
	}
	return 0;
}

RA_INLINE uint32_t ra_v_how(const struct uop *u)
{
	return u->c | ((uint32_t)u->imm & (UV_KEEP | UV_INSERT));
}

/* Memory operands. */

/* Reads the bytes into UV_OUT from cached lines alone. Returns non-zero if that does not
 * suffice. */
RA_INLINE int ra_v_read_lines(struct ra_state *s, uint64_t addr, uint32_t bytes)
{
	uint32_t lanes = (bytes + 7) / 8, at = (uint32_t)(addr / 8), sh = (uint32_t)(addr & 7) * 8,
		 j;
	uint64_t touched = (2ull << lanes) - 1, line = addr / RA_LINE_BYTES, word = addr >> 3 & 63;
	uint64_t tag, last = (addr + bytes - 1) / RA_LINE_BYTES, lo, hi;
	struct ra_line *l;

	invariant(bytes && bytes <= 64);
	touched = touched << word | touched >> 1 >> (63 - word);
	if (s->bloom & touched || s->nkeep_off || ra_not_users(addr, bytes))
		return 1;
	for (uint32_t i = 0; i < 2; i++) {
		if (line + i > last)
			break;
		l = &s->line[(line + i) & (RA_LINES - 1)];
		tag = (uint64_t)s->gen << RA_LINE_GEN_SHIFT | (line + i);
		if (l->tag == tag)
			continue;
		l->tag = 0;
		if (ra_read_line((line + i) * RA_LINE_BYTES, l->data))
			return 1;
		l->tag = tag;
	}
	for (uint32_t i = 0; i < 8; i++) {
		if (i >= lanes)
			break;
		j = at + i;
		lo = s->line[j / 8 & (RA_LINES - 1)].data[j & 7];
		j++;
		hi = s->line[j / 8 & (RA_LINES - 1)].data[j & 7];
		s->v[UV_OUT][i] = lo >> sh | hi << 1 << (63 - sh);
	}
	return 0;
}

#define RA_V_MASKED 256

/*
 * Reads 8 bytes, or the rest, to s->aux. Returns the known bytes, RA_V_MASKED if none is asked for,
 * or the reason to end the window. masks: the bytes to read; in the upper half, those for which the
 * mask is unknown.
 */
RA_HELPER int ra_v_read_lane(struct ra_state *s, uint64_t addr, uint32_t left, uint32_t masks)
{
	uint32_t w = left >= 8 ? 3 : left >= 4 ? 2 : left >= 2 ? 1 : 0, all = (1u << (1u << w)) - 1;
	int v;

	RA_NULL(s);
	invariant(left && !(masks >> 16) && !(masks & masks >> 8));
	if (!((masks | masks >> 8) & all))
		return RA_V_MASKED;
	s->aux = 0;
	v = ra_load(s, addr, w);
	if (v < 0 && (masks & all) == all)
		return v;
	return v ? 0 : (int)all;
}

/*
 * Reads 8 bytes at a time; a byte that cannot be read is unknown if it may be masked off. Returns
 * the known bytes in s->aux2, or the reason to end the window. It is inline because calls may nest
 * at most eight deep.
 */
RA_INLINE int ra_v_read_slowly(struct ra_state *s, uint64_t addr, uint32_t bytes, uint32_t c)
{
	uint64_t known = 0;
	struct ra_v_mask m;
	int v;

	m = ra_v_mask(s, c);
	for (uint32_t i = 0; i < 8; i++) {
		if (8 * i >= bytes)
			break;
		v = ra_v_read_lane(s, addr + 8 * i, bytes - 8 * i,
				   (m.take >> (8 * i) & 0xff) | (m.unsure >> (8 * i) & 0xff) << 8);
		if (v < 0)
			return v;
		if (v == RA_V_MASKED)
			continue;
		s->v[UV_OUT][i] = s->aux;
		known |= (uint64_t)(uint32_t)v << (8 * i);
	}
	s->aux2 = known;
	return 0;
}

RA_HELPER int ra_v_load(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t addr, known = 0;
	uint32_t bytes, to;
	int v = 0;

	RA_NULL(s);
	if (!u)
		return RA_UNREADABLE;
	addr = s->r[UR_EA];
	bytes = (uint32_t)u->imm & UV_BYTES;
	to = u->a & (UR_N - 1);
	if (s->known >> UR_EA & 1) {
		if (!ra_v_read_lines(s, addr, bytes)) {
			known = ra_v_low(bytes);
		} else {
			v = ra_v_read_slowly(s, addr, bytes, u->c);
			if (v)
				return v;
			known = s->aux2;
		}
	}
	if (to != UR_ZERO) {
		s->r[to] = s->v[UV_OUT][0] & ra_mask(bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes / 2);
		v = !(~known & ra_v_low(bytes < 8 ? bytes : 8));
		s->known = (s->known & ~(1u << to)) | (uint32_t)v << to;
	}
	ra_v_commit(s, u->dst, ra_v_low(bytes), known, ra_v_how(u));
	return 0;
}

/* Stores at most 8 bytes: those in bits; those also in `known` are known. */
RA_HELPER int ra_v_store_lane(struct ra_state *s, uint64_t addr, uint64_t data, uint32_t bits,
			      uint32_t known)
{
	uint64_t mask = ra_v_bytes(bits), sure = ra_v_bytes(known), word = addr >> 3;
	uint32_t sh = (uint32_t)(addr & 7) * 8;

	RA_NULL(s);
	invariant(bits && bits <= 0xff && known <= 0xff);
	if (mask << sh && ra_sb_put(s, word, data << sh, mask << sh, sure << sh))
		return RA_NO_ROOM;
	if (mask >> 1 >> (63 - sh))
		return ra_sb_put(s, word + 1, data >> 1 >> (63 - sh), mask >> 1 >> (63 - sh),
				 sure >> 1 >> (63 - sh));
	return 0;
}

/* Stores a vector register. Returns 0, RA_NO_ROOM, or RA_FAULTS; UR_EA is known. */
RA_HELPER int ra_v_store(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t bits, known, addr;
	struct ra_v_mask m;
	uint32_t bytes, from;

	RA_NULL(s);
	if (!u)
		return RA_NO_ROOM;
	addr = s->r[UR_EA];
	bytes = (uint32_t)u->imm & UV_BYTES;
	from = u->dst & (UV_N - 1);
	m = ra_v_mask(s, u->c);
	bits = (m.take | m.unsure) & ra_v_low(bytes);
	known = ra_v_known(s, from) & ~m.unsure;
	/* where nothing is masked off, all bytes must be in user space */
	if (bits == ra_v_low(bytes) && !m.unsure && ra_not_users(addr, bytes))
		return RA_FAULTS;
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t lane = (uint32_t)(bits >> (8 * i)) & 0xff;

		if (!lane)
			continue;
		if (ra_not_users(addr + 8 * i, 1))
			return RA_FAULTS;
		if (ra_v_store_lane(s, addr + 8 * i, s->v[from][i], lane,
				    (uint32_t)(known >> (8 * i)) & 0xff))
			return RA_NO_ROOM;
	}
	return 0;
}

#endif
