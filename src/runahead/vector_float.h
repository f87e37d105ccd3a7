/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Vector micro-ops on floating-point numbers. The thread's rounding mode, and whether it treats
 * denormals as 0, are not known: results that depend on them are unknown.
 */
#ifndef ASSAY_RUNAHEAD_VECTOR_FLOAT_H
#define ASSAY_RUNAHEAD_VECTOR_FLOAT_H

#include "runahead/arith.h"
#include "runahead/vector.h"

/* The first element of a, as the bits of a double; the element is a float if e is 2. */
RA_INLINE uint64_t ra_v_double(uint64_t v, uint32_t e)
{
	uint64_t exp = v >> 23 & 0xff;

	if (e != 2)
		return v;
	exp = exp == 0xff ? 0x7ff : exp ? exp + 1023 - 127 : 0;
	return (v & 0x80000000ull) << 32 | exp << 52 | (v & 0x7fffff) << 29;
}

RA_INLINE uint32_t ra_v_is_tiny(uint64_t d)
{
	return !(d >> 52 & 0x7ff) && d << 12;
}

RA_HELPER int ra_v_float_cmp(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	const uint64_t sign = 1ull << 63;
	uint64_t x, y, want;
	uint32_t a, b, e, fl;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	b = u->b & (UV_N - 1);
	e = u->c >> 4 & 3;
	want = ra_v_low(1u << e);
	x = ra_v_double(s->v[a][0], e);
	y = ra_v_double(s->v[b][0], e);
	if (want & ~(ra_v_known(s, a) & ra_v_known(s, b)) || ra_v_is_tiny(x) || ra_v_is_tiny(y)) {
		ra_flags_set(s, FL_STATUS, 0, FL_ZF | FL_PF | FL_CF);
		return 0;
	}
	if (x << 1 > 0xffeull << 52 || y << 1 > 0xffeull << 52) {
		ra_flags_set(s, FL_STATUS, FL_ZF | FL_PF | FL_CF, 0);
		return 0;
	}
	x = x << 1 ? x ^ (x >> 63 ? ~0ull : sign) : sign;
	y = y << 1 ? y ^ (y >> 63 ? ~0ull : sign) : sign;
	fl = x == y ? FL_ZF : x < y ? FL_CF : 0;
	ra_flags_set(s, FL_STATUS, fl, 0);
	return 0;
}

/* Converts a floating-point number to an integer. imm: rounded in the thread's mode, instead of
 * truncated. */
RA_HELPER int ra_v_float_int(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t d, mant, r, m, out;
	uint32_t a, e, w, dst, exp, known;

	RA_NULL(s);
	if (!u)
		return 0;
	a = u->a & (UV_N - 1);
	e = u->c >> 4 & 3;
	w = u->flags & UF_WIDTH;
	dst = u->dst & (UR_N - 1);
	m = ra_mask(w);
	out = m ^ m >> 1; /* a value that does not fit */
	known = !(ra_v_low(1u << e) & ~ra_v_known(s, a));
	d = ra_v_double(s->v[a][0], e);
	exp = (uint32_t)(d >> 52) & 0x7ff;
	mant = (d & ((1ull << 52) - 1)) | 1ull << 52;
	if (exp < 1023) {
		r = 0;
		if (u->imm && d << 1)
			known = 0;
	} else if (exp > 1023 + 62) {
		r = out;
	} else {
		exp -= 1023;
		r = exp >= 52 ? mant << ((exp - 52) & 63) : mant >> ((52 - exp) & 63);
		if (u->imm && exp < 52 && mant << ((12 + exp) & 63))
			known = 0;
		if (r > (m >> 1) + (d >> 63))
			r = out;
		else if (d >> 63)
			r = -r;
	}
	s->r[dst] = r & m;
	s->known = (s->known & ~(1u << dst)) | known << dst;
	return 0;
}

RA_HELPER int ra_v_int_float(struct ra_state *s, uint32_t pc)
{
	const struct uop *u = ra_uop_at(pc);
	uint64_t v, mant = 0, known, neg;
	uint32_t e, w, top, digits;

	RA_NULL(s);
	if (!u)
		return 0;
	e = u->c >> 4 & 3;
	w = u->flags & UF_WIDTH;
	known = -(uint64_t)(s->known >> (u->b & (UR_N - 1)) & 1);
	v = ra_sign_extend(s->r[u->b & (UR_N - 1)], w);
	neg = v >> 63;
	v = neg ? -v : v;
	digits = e == 2 ? 23 : 52;
	if (v) {
		top = (uint32_t)ra_high_bit(v) & 63;
		mant = top <= digits ? v << ((digits - top) & 63) : v >> ((top - digits) & 63);
		if (top > digits && (v & ra_v_low(top - digits)))
			known = 0; /* the value was rounded */
		mant &= ra_v_low(digits);
		mant |= (uint64_t)(top + (e == 2 ? 127 : 1023)) << digits;
		mant |= neg << (e == 2 ? 31 : 63);
	}
	s->v[UV_OUT][0] = mant;
	return ra_v_commit(s, u->dst, ra_v_low(1u << e), known, ra_v_how(u));
}

#endif
