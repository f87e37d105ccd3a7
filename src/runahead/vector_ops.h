/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Vector micro-ops on bytes, elements and masks. Each executes the micro-op at pc, and returns 0.
 */
#ifndef ASSAY_RUNAHEAD_VECTOR_OPS_H
#define ASSAY_RUNAHEAD_VECTOR_OPS_H

#include "runahead/vector_float.h"

/* Arithmetic and logic. */

RA_HELPER int ra_v_logic(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint32_t a, b, table;
	uint64_t known;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	b = u->b & (UV_N - 1);
	table = (uint32_t)u->imm & 15;
	for (uint32_t i = 0; i < 8; i++)
		s->v[UV_OUT][i] = ra_v_by_table(s->v[a][i], s->v[b][i], table);
	known = ra_v_table_known(ra_v_known(s, a), ra_v_known(s, b), table);
	return ra_v_commit(s, u->dst, ra_v_low(8u << (u->flags & UF_WIDTH)), known, ra_v_how(u));
}

RA_INLINE uint64_t ra_v_arith_lane(uint64_t a, uint64_t b, uint32_t op, struct ra_v_element k)
{
	uint64_t m;

	switch (op) {
	case UVA_ADD:
		return ra_v_sum(a, b, k);
	case UVA_SUB:
		return ra_v_difference(a, b, k);
	case UVA_EQ:
		return ra_v_equal(a, b, k);
	default:
		m = ra_v_below(a, b, k);
		if (op == UVA_LT)
			return m;
		m ^= -(uint64_t)(op == UVA_MAX);
		return (a & m) | (b & ~m);
	}
}

RA_HELPER int ra_v_arith(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t flip, known, r;
	struct ra_v_element k;
	uint32_t a, b, op, e;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	b = u->b & (UV_N - 1);
	op = (uint32_t)u->imm & 15;
	e = u->c >> 4 & 3;
	k = ra_v_element(e);
	flip = u->imm & UV_SIGNED ? k.high : 0;
	for (uint32_t i = 0; i < 8; i++) {
		r = ra_v_arith_lane(s->v[a][i] ^ flip, s->v[b][i] ^ flip, op, k);
		s->v[UV_OUT][i] = op == UVA_MIN || op == UVA_MAX ? r ^ flip : r;
	}
	known = ra_v_whole(ra_v_known(s, a) & ra_v_known(s, b), e);
	return ra_v_commit(s, u->dst, ra_v_low(8u << (u->flags & UF_WIDTH)), known, ra_v_how(u));
}

/* Sets mask register k to n elements' bits; `known`: the known ones. */
RA_INLINE void ra_k_set(struct ra_state *s, uint32_t k, uint64_t bits, uint64_t known, uint32_t n)
{
	s->v[k & (UV_N - 1)][0] = bits & ra_v_low(n);
	ra_v_set_known(s, k, known | ~ra_v_low(n));
}

RA_HELPER int ra_v_cmp(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t flip, known, lt = 0, eq = 0, r, x, y;
	uint32_t a, b, e, how, mask;
	struct ra_v_element k;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	b = u->b & (UV_N - 1);
	e = u->c >> 4 & 3;
	how = (uint32_t)u->imm;
	k = ra_v_element(e);
	flip = how & UV_SIGNED ? k.high : 0;
	for (uint32_t i = 0; i < 8; i++) {
		x = s->v[a][i] ^ flip;
		y = s->v[b][i] ^ flip;
		if (how & UV_TEST) {
			x &= y;
			y = 0;
		}
		eq |= ra_v_tops(ra_v_equal(x, y, k)) << (8 * i);
		lt |= ra_v_tops(ra_v_below(x, y, k)) << (8 * i);
	}
	r = (eq & -(uint64_t)((0x5 >> (how & 3)) & 1)) | (lt & -(uint64_t)((0x6 >> (how & 3)) & 1));
	r ^= -(uint64_t)(how >> 2 & 1);
	known = ra_v_pack(ra_v_whole(ra_v_known(s, a) & ra_v_known(s, b), e), e);
	r = ra_v_pack(r, e);
	if (u->c & 7) { /* elements that are masked off are 0 */
		mask = UV_K0 + (u->c & 7);
		x = s->v[mask & (UV_N - 1)][0];
		y = ra_v_known(s, mask);
		known = (known & x & y) | (~x & y);
		r &= x;
	}
	ra_k_set(s, u->dst, r, known, (8u << (u->flags & UF_WIDTH)) >> e);
	return 0;
}

/* Data movement. */

RA_HELPER int ra_v_broadcast(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	struct ra_v_element k;
	uint64_t known, v;
	uint32_t a, e, n;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	e = u->c >> 4 & 7;
	known = ra_v_known(s, a);
	if (e <= 3) {
		k = ra_v_element(e);
		/* shifting the top bits to the bottom gives a 1 in each element */
		v = (s->v[a][0] & k.ones) * (k.high >> k.top);
		for (uint32_t i = 0; i < 8; i++)
			s->v[UV_OUT][i] = v;
		known = (known & ra_v_low(1u << e)) == ra_v_low(1u << e) ? ~0ull : 0;
	} else {
		n = e == 4 ? 1 : 3;
		for (uint32_t i = 0; i < 8; i++)
			s->v[UV_OUT][i] = s->v[a][i & n];
		known &= ra_v_low(1u << e);
		known |= known << 32;
		if (e == 4)
			known |= known << 16;
	}
	return ra_v_commit(s, u->dst, ra_v_low(8u << (u->flags & UF_WIDTH)), known, ra_v_how(u));
}

/* Dword i of two lanes. */
RA_INLINE uint64_t ra_v_dword(const struct ra_state *s, uint32_t reg, uint32_t lane, uint32_t i)
{
	return s->v[reg & (UV_N - 1)][(lane + (i >> 1 & 1)) & 7] >> ((i & 1) * 32) & 0xffffffffull;
}

RA_HELPER int ra_v_shuffle(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint32_t a, b, d0, d1, d2, d3;
	uint64_t ka, kb, known = 0;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a;
	b = u->b;
	d0 = (uint32_t)u->imm & 3;
	d1 = (uint32_t)u->imm >> 2 & 3;
	d2 = (uint32_t)u->imm >> 4 & 3;
	d3 = (uint32_t)u->imm >> 6 & 3;
	ka = ra_v_known(s, a);
	kb = ra_v_known(s, b);
	for (uint32_t i = 0; i < 8; i += 2) {
		s->v[UV_OUT][i] = ra_v_dword(s, a, i, d0) | ra_v_dword(s, a, i, d1) << 32;
		s->v[UV_OUT][i + 1] = ra_v_dword(s, b, i, d2) | ra_v_dword(s, b, i, d3) << 32;
		known |= ((ka >> (8 * i + 4 * d0) & 15) | (ka >> (8 * i + 4 * d1) & 15) << 4 |
			  (kb >> (8 * i + 4 * d2) & 15) << 8 | (kb >> (8 * i + 4 * d3) & 15) << 12)
			 << (8 * i);
	}
	return ra_v_commit(s, u->dst, ra_v_low(8u << (u->flags & UF_WIDTH)), known, ra_v_how(u));
}

/* Eight bytes, from byte n on, of the 16 in lo and hi. */
RA_INLINE uint64_t ra_v_eight(uint64_t lo, uint64_t hi, uint32_t n)
{
	return lo >> (8 * n) | hi << 1 << (63 - 8 * n);
}

RA_HELPER int ra_v_align(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t ka, kb, known = 0, w0, w1, w2;
	uint32_t a, b, n, q;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	b = u->b & (UV_N - 1);
	n = (uint32_t)u->imm & 31;
	q = n >> 3;
	ka = ra_v_known(s, a);
	kb = ra_v_known(s, b);
	for (uint32_t i = 0; i < 8; i += 2) {
		/* lanes q and q + 1 of the sequence a, b, 0, with two lanes each */
		w0 = q == 0   ? s->v[a][i]
		     : q == 1 ? s->v[a][i + 1]
		     : q == 2 ? s->v[b][i]
			      : s->v[b][i + 1];
		w1 = q == 0 ? s->v[a][i + 1] : q == 1 ? s->v[b][i] : q == 2 ? s->v[b][i + 1] : 0;
		w2 = q == 0 ? s->v[b][i] : q == 1 ? s->v[b][i + 1] : 0;
		s->v[UV_OUT][i] = ra_v_eight(w0, w1, n & 7);
		s->v[UV_OUT][i + 1] = ra_v_eight(w1, w2, n & 7);
		known |= (((ka >> (8 * i) & 0xffff) | (kb >> (8 * i) & 0xffff) << 16 |
			   0xffffull << 32) >>
				  n &
			  0xffff)
			 << (8 * i);
	}
	return ra_v_commit(s, u->dst, ra_v_low(8u << (u->flags & UF_WIDTH)), known, ra_v_how(u));
}

RA_HELPER int ra_v_put(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint32_t bytes, at, i, how;
	uint64_t v, size, known;

	RA_NULL(s);
	if (!u)
		return 0;
	bytes = 1u << (u->flags & UF_WIDTH);
	at = (uint32_t)u->imm & 63;
	v = s->r[u->b & (UR_N - 1)] & ra_mask(u->flags & UF_WIDTH);
	known = -(uint64_t)(s->known >> (u->b & (UR_N - 1)) & 1);
	if ((u->dst & (UV_N - 1)) >= UV_K0) {
		ra_k_set(s, u->dst, v, known, 8 * bytes);
		return 0;
	}
	i = at / 8;
	size = ra_v_low(bytes) << at;
	s->v[UV_OUT][i & 7] = v << (8 * (at & 7));
	how = ra_v_how(u);
	return ra_v_commit(s, u->dst, size, known, how);
}

RA_HELPER int ra_v_get(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint32_t w, at, a, dst;
	uint64_t known, want;

	RA_NULL(s);
	if (!u)
		return 0;
	w = u->flags & UF_WIDTH;
	at = (uint32_t)u->imm & 63;
	a = u->a & (UV_N - 1);
	dst = u->dst & (UR_N - 1);
	want = a >= UV_K0 ? ra_mask(w) : ra_v_low(1u << w) << at;
	known = !(want & ~ra_v_known(s, a));
	s->r[dst] = s->v[a][at / 8] >> (8 * (at & 7)) & ra_mask(w);
	s->known = (s->known & ~(1u << dst)) | (uint32_t)known << dst;
	return 0;
}

RA_HELPER int ra_v_bits(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint32_t a, dst, e, top;
	uint64_t bits = 0, size, known;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	dst = u->dst & (UR_N - 1);
	e = u->c >> 4 & 3;
	top = (1u << e) - 1;
	size = ra_v_low(8u << (u->flags & UF_WIDTH)) & ra_v_firsts(e);
	for (uint32_t i = 0; i < 8; i++)
		bits |= ra_v_tops(s->v[a][i]) << (8 * i);
	known = !(size & ~(ra_v_known(s, a) >> top));
	s->r[dst] = ra_v_pack(bits >> top & size, e);
	s->known = (s->known & ~(1u << dst)) | (uint32_t)known << dst;
	return 0;
}

/* Sets ZF if zf is 0, CF if cf is 0; zf_unk, cf_unk: the flag is unknown. */
RA_INLINE void ra_v_flags(struct ra_state *s, uint64_t zf, uint64_t cf, uint32_t zf_unk,
			  uint32_t cf_unk)
{
	ra_flags_set(s, FL_STATUS, (zf ? 0 : FL_ZF) | (cf ? 0 : FL_CF),
		     (zf_unk ? FL_ZF : 0) | (cf_unk ? FL_CF : 0));
}

RA_HELPER int ra_v_test(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t zf = 0, cf = 0, all, m, known;
	uint32_t a, b;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	b = u->b & (UV_N - 1);
	all = ra_v_low(8u << (u->flags & UF_WIDTH));
	known = ra_v_known(s, a) & ra_v_known(s, b);
	for (uint32_t i = 0; i < 8; i++) {
		m = ra_v_bytes((known & all) >> (8 * i));
		zf |= s->v[a][i] & s->v[b][i] & m;
		cf |= ~s->v[a][i] & s->v[b][i] & m;
	}
	/* one known bit suffices */
	ra_v_flags(s, zf, cf, !zf && (all & ~known), !cf && (all & ~known));
	return 0;
}

RA_HELPER int ra_v_zero_upper(struct ra_state *s)
{
	RA_NULL(s);
	if (!(s->vlive & 0xffff))
		return 0;
	for (uint32_t i = 0; i < 16; i++) {
		if (!(s->vlive >> i & 1))
			continue;
		for (uint32_t k = 2; k < 8; k++)
			s->v[i][k] = 0;
		s->vknown[i] |= ~0xffffull;
	}
	return 0;
}

/* Mask registers. */

RA_HELPER int ra_k_op(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t x, y, kx, ky, r, known, m;
	uint32_t w, half;

	RA_NULL(s);
	if (!u)
		return 0;
	w = u->flags & UF_WIDTH;
	m = ra_mask(w);
	x = s->v[u->a & (UV_N - 1)][0] & m;
	y = s->v[u->b & (UV_N - 1)][0] & m;
	kx = ra_v_known(s, u->a);
	ky = ra_v_known(s, u->b);
	switch (u->op) {
	case UOP_KCAT:
		half = 4u << w;
		r = x << half | (y & ra_v_low(half));
		known = kx << half | (ky & ra_v_low(half));
		break;
	case UOP_KSH:
		half = (uint32_t)(u->imm < 0 ? -u->imm : u->imm);
		if (half > 63) {
			r = 0;
			known = ~0ull;
		} else if (u->imm < 0) {
			r = x >> half;
			known = (kx | ~m) >> half | ~(~0ull >> half);
		} else {
			r = x << half;
			known = kx << half | ra_v_low(half);
		}
		break;
	default:
		r = ra_v_by_table(x, y, (uint32_t)u->imm);
		known = ra_v_table_known(kx, ky, (uint32_t)u->imm);
		break;
	}
	ra_k_set(s, u->dst, r, known, 8u << w);
	return 0;
}

RA_HELPER int ra_k_test(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t x, y, kx, ky, m, zf, cf, zf_unk, cf_unk;

	RA_NULL(s);
	if (!u)
		return 0;
	m = ra_mask(u->flags & UF_WIDTH);
	x = s->v[u->a & (UV_N - 1)][0] & m;
	y = s->v[u->b & (UV_N - 1)][0] & m;
	kx = ra_v_known(s, u->a) & m;
	ky = ra_v_known(s, u->b) & m;
	if (u->imm) {
		zf = x & y & kx & ky;
		cf = ~x & y & kx & ky;
		zf_unk = cf_unk = m & ~(kx & ky);
	} else {
		zf = (x & kx) | (y & ky);
		zf_unk = m & ~(kx & ky) & ~zf;
		/* bits that are 0 in both */
		cf = ~x & ~y & kx & ky;
		cf_unk = zf_unk;
	}
	ra_v_flags(s, zf, cf, !zf && zf_unk, !cf && cf_unk);
	return 0;
}

/* Executes a vector micro-op that cannot end the window. */
RA_INLINE void ra_vector(struct ra_state *s, const struct uop *u, uint32_t pc)
{
	switch (u->op) {
	case UOP_VLOGIC:
		ra_v_logic(s, pc);
		break;
	case UOP_VARITH:
		ra_v_arith(s, pc);
		break;
	case UOP_VCMP:
		ra_v_cmp(s, pc);
		break;
	case UOP_VBC:
		ra_v_broadcast(s, pc);
		break;
	case UOP_VSHUF:
		ra_v_shuffle(s, pc);
		break;
	case UOP_VSHB:
		ra_v_align(s, pc);
		break;
	case UOP_VPUT:
		ra_v_put(s, pc);
		break;
	case UOP_VGET:
		ra_v_get(s, pc);
		break;
	case UOP_VBITS:
		ra_v_bits(s, pc);
		break;
	case UOP_VTEST:
		ra_v_test(s, pc);
		break;
	case UOP_VZ:
		ra_v_zero_upper(s);
		break;
	case UOP_VUNK:
		s->vlive &= ~(uint64_t)u->imm;
		break;
	case UOP_VFCMP:
		ra_v_float_cmp(s, pc);
		break;
	case UOP_VFINT:
		ra_v_float_int(s, pc);
		break;
	case UOP_VINTF:
		ra_v_int_float(s, pc);
		break;
	case UOP_KTEST:
		ra_k_test(s, pc);
		break;
	default:
		ra_k_op(s, pc);
		break;
	}
}

#endif
