/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The part of the run-ahead interpreter's arithmetic that takes more than an expression. */
#ifndef ASSAY_RUNAHEAD_ARITH_H
#define ASSAY_RUNAHEAD_ARITH_H

#include "runahead/flags.h"

RA_INLINE uint64_t ra_mulhu(uint64_t a, uint64_t b)
{
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t t = al * bl;
	uint64_t u = ah * bl + (t >> 32);
	uint64_t v = al * bh + (uint32_t)u;

	return ah * bh + (u >> 32) + (v >> 32);
}

/* Returns the high half of the product at width w. */
RA_HELPER uint64_t ra_mulh(uint64_t a, uint64_t b, uint32_t w, uint32_t is_signed)
{
	uint64_t h;

	invariant(w <= 3 && a <= ra_mask(w) && b <= ra_mask(w));
	w &= 3;
	if (is_signed) {
		a = ra_sign_extend(a, w);
		b = ra_sign_extend(b, w);
	}
	if (w < 3)
		return (a * b) >> (8u << w) & ra_mask(w);
	h = ra_mulhu(a, b);
	if (is_signed) {
		if ((int64_t)a < 0)
			h -= b;
		if ((int64_t)b < 0)
			h -= a;
	}
	return h;
}

/* Divides 128 by 64 bits, unsigned, with hi < d: two digits of 32 bits each, after Knuth 4.3.1
 * D. Returns the quotient; the remainder goes to s->aux. */
RA_HELPER uint64_t ra_div128(struct ra_state *s, uint64_t hi, uint64_t lo, uint64_t d)
{
	uint64_t vn1, vn0, un32, un10, un1, un0, q1, q0, rhat, un21;
	uint32_t sh = 0;

	RA_NULL(s);
	invariant(hi < d);
	if (!d)
		return 0;
	if (!(d >> 32))
		sh += 32;
	if (!(d << sh >> 48))
		sh += 16;
	if (!(d << sh >> 56))
		sh += 8;
	if (!(d << sh >> 60))
		sh += 4;
	if (!(d << sh >> 62))
		sh += 2;
	if (!(d << sh >> 63))
		sh += 1;
	sh &= 63;
	d <<= sh;
	vn1 = d >> 32;
	vn0 = (uint32_t)d;
	un32 = sh ? hi << sh | lo >> (64 - sh) : hi;
	un10 = lo << sh;
	un1 = un10 >> 32;
	un0 = (uint32_t)un10;
	if (!vn1)
		return 0;
	q1 = un32 / vn1;
	rhat = un32 - q1 * vn1;
	if (q1 >> 32 || q1 * vn0 > (rhat << 32 | un1)) {
		q1--;
		rhat += vn1;
		if (!(rhat >> 32) && (q1 >> 32 || q1 * vn0 > (rhat << 32 | un1)))
			q1--;
	}
	un21 = (un32 << 32 | un1) - q1 * d;
	q0 = un21 / vn1;
	rhat = un21 - q0 * vn1;
	if (q0 >> 32 || q0 * vn0 > (rhat << 32 | un0)) {
		q0--;
		rhat += vn1;
		if (!(rhat >> 32) && (q0 >> 32 || q0 * vn0 > (rhat << 32 | un0)))
			q0--;
	}
	s->aux = ((un21 << 32 | un0) - q0 * d) >> sh;
	invariant(s->aux < d >> sh && !(q0 >> 32) && !(q1 >> 32));
	return (q1 << 32) + q0;
}

/* Divides hi:lo by d at width w. The quotient goes to s->aux, the remainder to s->aux2. Returns
 * non-zero if the division faults. */
RA_HELPER int ra_div(struct ra_state *s, uint64_t lo, uint64_t d, uint32_t how)
{
	uint32_t w = how & 3;
	bool is_signed = how & 4, neg_n = false, neg_d = false;
	uint64_t m = ra_mask(w), hi, q, rem, limit;

	RA_NULL(s);
	hi = s->aux & m;
	lo &= m;
	d &= m;
	if (!d)
		return 1;
	if (w < 3) {
		lo |= hi << (8u << w);
		hi = 0;
		if (is_signed) {
			/* the dividend has 2 w bits */
			lo = ra_sign_extend(lo, w + 1);
			d = ra_sign_extend(d, w);
			neg_n = (int64_t)lo < 0;
			neg_d = (int64_t)d < 0;
			if (neg_n)
				lo = -lo;
			if (neg_d)
				d = -d;
		}
	} else if (is_signed) {
		neg_n = (int64_t)hi < 0;
		neg_d = (int64_t)d < 0;
		if (neg_n) {
			hi = ~hi + !lo;
			lo = -lo;
		}
		if (neg_d)
			d = -d;
	}
	if (hi >= d)
		return 1;
	if (hi) {
		q = ra_div128(s, hi, lo, d);
		rem = s->aux;
	} else {
		q = lo / d;
		rem = lo - q * d;
	}
	if (is_signed) {
		limit = (m >> 1) + (neg_n != neg_d);
		if (q > limit)
			return 1;
		if (neg_n != neg_d)
			q = -q;
		if (neg_n)
			rem = -rem;
	} else if (q > m) {
		return 1;
	}
	invariant(is_signed || rem < d);
	s->aux = q & m;
	s->aux2 = rem & m;
	return 0;
}

/* Shifts and rotates, with flags. The result goes to s->aux. b: the count as it stands in the
 * register. how: width; bit 3: flags wanted; bits 8-15: enum uop_op. fill: the second source of
 * SHLD and SHRD. */
RA_HELPER int ra_shift(struct ra_state *s, uint64_t a, uint64_t b, uint64_t fill, uint32_t how)
{
	uint32_t w = how & 3, op = how >> 8 & 0xff, bits = 8u << w, fl = 0, unk = 0, which;
	uint32_t n = (uint32_t)b & (w == 3 ? 63 : 31), k;
	uint64_t m = ra_mask(w), r = 0, sa, cf = 0;
	bool flags = how & UF_FLAGS;

	RA_NULL(s);
	a &= m;
	s->aux = a;
	if (!n)
		return 0; /* the flags do not change */
	which = FL_STATUS;
	unk = FL_AF;
	switch (op) {
	case UOP_SHL:
		r = n < 64 ? a << n & m : 0;
		cf = n <= bits ? a >> ((bits - n) & 63) & 1 : 0;
		if (n == bits)
			cf = a & 1;
		if (n > bits)
			unk |= FL_CF;
		if (((r >> (bits - 1)) & 1) != cf)
			fl |= FL_OF;
		break;
	case UOP_SHR:
		r = a >> n;
		cf = a >> (n - 1) & 1;
		if (n > bits)
			unk |= FL_CF;
		if (a >> (bits - 1) & 1)
			fl |= FL_OF;
		break;
	case UOP_SAR:
		sa = ra_sign_extend(a, w);
		r = (uint64_t)((int64_t)sa >> n) & m;
		cf = sa >> (n - 1) & 1;
		if (n > bits)
			cf = sa >> 63;
		break;
	case UOP_SHLD:
	case UOP_SHRD:
		fill &= m;
		if (n > bits) {
			/* in 16-bit forms only; the result is undefined */
			s->aux = 0;
			if (flags)
				ra_flags_set(s, FL_STATUS, 0, FL_STATUS);
			return 1;
		}
		k = bits - n;
		invariant(n && n <= bits && k < bits);
		if (op == UOP_SHLD) {
			r = ((n < 64 ? a << n : 0) | fill >> (k & 63)) & m;
			cf = a >> (k & 63) & 1;
		} else {
			r = (a >> n | fill << (k & 63)) & m;
			cf = a >> (n - 1) & 1;
		}
		if (n == bits)
			r = fill;
		if ((r ^ a) >> (bits - 1) & 1)
			fl |= FL_OF;
		break;
	case UOP_ROL:
		k = n & (bits - 1);
		r = (a << k | a >> ((bits - k) & 63)) & m;
		if (!k)
			r = a;
		cf = r & 1;
		if ((r >> (bits - 1) & 1) != cf)
			fl |= FL_OF;
		which = FL_CF | FL_OF;
		break;
	case UOP_ROR:
		k = n & (bits - 1);
		r = (a >> k | a << ((bits - k) & 63)) & m;
		if (!k)
			r = a;
		cf = r >> (bits - 1) & 1;
		if ((r >> (bits - 2) & 1) != cf)
			fl |= FL_OF;
		which = FL_CF | FL_OF;
		break;
	/* RCL and RCR rotate CF as one more bit; a count of 0 after the modulo changes nothing */
	default:
		invariant(op == UOP_RCL || op == UOP_RCR);
		ra_flags(s);
		k = w == 0 ? n % 9 : w == 1 ? n % 17 : n;
		if (s->fl_unk & FL_CF) {
			if (flags)
				ra_flags_set(s, FL_CF | FL_OF, 0, FL_CF | FL_OF);
			return 1;
		}
		cf = s->fl & FL_CF;
		r = a;
		if (k && op == UOP_RCL) {
			r = (a << k | cf << (k - 1)) & m;
			if (k > 1)
				r |= a >> ((bits + 1 - k) & 63);
			cf = a >> ((bits - k) & 63) & 1;
		} else if (k) {
			r = (a >> k | cf << ((bits - k) & 63)) & m;
			if (k > 1)
				r |= a << ((bits + 1 - k) & 63) & m;
			cf = a >> (k - 1) & 1;
		}
		which = FL_CF | FL_OF;
		if (op == UOP_RCL && (r >> (bits - 1) & 1) != cf)
			fl |= FL_OF;
		if (op == UOP_RCR && ((r >> (bits - 1) ^ r >> (bits - 2)) & 1))
			fl |= FL_OF;
		break;
	}
	invariant(r <= m && cf <= 1);
	s->aux = r;
	if (!flags)
		return 0;
	if (cf)
		fl |= FL_CF;
	if (n != 1)
		unk |= FL_OF;
	fl |= ra_flags_zsp(r, w);
	ra_flags_set(s, which, fl, unk);
	return 0;
}

RA_INLINE uint64_t ra_popcount(uint64_t v)
{
	v -= v >> 1 & 0x5555555555555555ull;
	v = (v & 0x3333333333333333ull) + (v >> 2 & 0x3333333333333333ull);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return v * 0x0101010101010101ull >> 56;
}

/* Index of the highest set bit; v != 0. */
RA_INLINE uint64_t ra_high_bit(uint64_t v)
{
	invariant(v);
	v |= v >> 1;
	v |= v >> 2;
	v |= v >> 4;
	v |= v >> 8;
	v |= v >> 16;
	v |= v >> 32;
	return ra_popcount(v) - 1;
}

/* Extract and deposit, six butterfly stages (Hacker's Delight 7-4, 7-5). */
RA_HELPER uint64_t ra_pext_pdep(uint64_t x, uint64_t mask, uint32_t deposit)
{
	uint64_t m = mask, mk = ~m << 1, mp, mv, t, a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0;

	if (!deposit)
		x &= m;
#define STAGE(i, a) \
	mp = mk ^ mk << 1; \
	mp ^= mp << 2; \
	mp ^= mp << 4; \
	mp ^= mp << 8; \
	mp ^= mp << 16; \
	mp ^= mp << 32; \
	mv = mp & m; \
	a = mv; \
	m = (m ^ mv) | mv >> (1 << i); \
	if (!deposit) { \
		t = x & mv; \
		x = (x ^ t) | t >> (1 << i); \
	} \
	mk &= ~mp;
	STAGE(0, a0)
	STAGE(1, a1)
	STAGE(2, a2)
	STAGE(3, a3)
	STAGE(4, a4)
	STAGE(5, a5)
#undef STAGE
	if (!deposit)
		return x;
#define STAGE(i, a) x = (x & ~(a)) | (x << (1 << i) & (a));
	STAGE(5, a5)
	STAGE(4, a4)
	STAGE(3, a3)
	STAGE(2, a2)
	STAGE(1, a1)
	STAGE(0, a0)
#undef STAGE
	return x & mask;
}

/* CRC-32C (Castagnoli), reflected, of four bits at a time. */
static const uint32_t ra_crc32_of[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

RA_HELPER uint64_t ra_crc32(uint64_t crc, uint64_t v, uint32_t w)
{
	uint32_t c = (uint32_t)crc, bytes = 1u << (w & 3);

	for (uint32_t i = 0; i < 8; i++) {
		if (i >= bytes)
			break;
		c ^= v >> (8 * i) & 0xff;
		c = c >> 4 ^ ra_crc32_of[c & 15];
		c = c >> 4 ^ ra_crc32_of[c & 15];
	}
	return c;
}

/* Executes a bit instruction. The result goes to s->aux; flags are set where wanted. how: width;
 * bit 3: flags; bits 8-15: op. Returns non-zero if the result is unknown. */
RA_HELPER int ra_bits(struct ra_state *s, uint64_t a, uint64_t b, uint32_t how)
{
	uint32_t w = how & 3, op = how >> 8 & 0xff, bits = 8u << w, fl = 0, unk = 0, n;
	uint32_t which = FL_STATUS;
	uint64_t m = ra_mask(w), r = 0;
	int unknown = 0;

	RA_NULL(s);
	a &= m;
	b &= m;
	switch (op) {
	case UOP_BT:
	case UOP_BTS:
	case UOP_BTR:
	case UOP_BTC:
		n = (uint32_t)b & (bits - 1);
		if (a >> n & 1)
			fl = FL_CF;
		r = a;
		if (op == UOP_BTS)
			r |= 1ull << n;
		if (op == UOP_BTR)
			r &= ~(1ull << n);
		if (op == UOP_BTC)
			r ^= 1ull << n;
		/* ZF does not change; the others are undefined */
		which = FL_STATUS & ~FL_ZF;
		unk = FL_OF | FL_SF | FL_AF | FL_PF;
		break;
	case UOP_BSF:
	case UOP_BSR:
		unk = FL_STATUS & ~FL_ZF;
		if (!b) {
			fl = FL_ZF;
			unknown = 1;
		} else {
			r = op == UOP_BSR ? ra_high_bit(b) : ra_popcount((b & -b) - 1);
		}
		break;
	case UOP_TZCNT:
	case UOP_LZCNT:
		if (!b) {
			r = bits;
			fl = FL_CF;
		} else if (op == UOP_TZCNT) {
			r = ra_popcount((b & -b) - 1);
		} else {
			r = bits - 1 - ra_high_bit(b);
		}
		if (!r)
			fl |= FL_ZF;
		unk = FL_OF | FL_SF | FL_PF | FL_AF;
		break;
	case UOP_POPCNT:
		r = ra_popcount(b);
		if (!b)
			fl = FL_ZF;
		break;
	case UOP_BLSI:
		r = b & -b;
		fl = ra_flags_zsp(r, w) | (b ? FL_CF : 0);
		unk = FL_AF | FL_PF;
		break;
	case UOP_BLSMSK:
		r = b ^ (b - 1);
		fl = (ra_flags_zsp(r & m, w) & ~(uint32_t)FL_ZF) | (b ? 0 : FL_CF);
		unk = FL_AF | FL_PF;
		break;
	case UOP_BLSR:
		r = b & (b - 1);
		fl = ra_flags_zsp(r, w) | (b ? 0 : FL_CF);
		unk = FL_AF | FL_PF;
		break;
	case UOP_BEXTR:
		n = (uint32_t)b & 0xff;
		r = n < 64 ? a >> n : 0;
		n = (uint32_t)b >> 8 & 0xff;
		if (n < 64)
			r &= (1ull << n) - 1;
		if (!r)
			fl = FL_ZF;
		unk = FL_AF | FL_SF | FL_PF;
		break;
	case UOP_BZHI:
		n = (uint32_t)b & 0xff;
		r = a;
		if (n < bits)
			r &= (1ull << (n & 63)) - 1;
		else
			fl = FL_CF;
		fl |= ra_flags_zsp(r, w);
		unk = FL_AF | FL_PF;
		break;
	default:
		unknown = 1;
		unk = FL_STATUS;
		break;
	}
	invariant(!(fl & ~which));
	s->aux = r & m;
	if (how & UF_FLAGS)
		ra_flags_set(s, which, fl, unk);
	return unknown;
}

RA_INLINE uint64_t ra_bswap(uint64_t v, uint32_t w)
{
	v = (v & 0x00ff00ff00ff00ffull) << 8 | (v >> 8 & 0x00ff00ff00ff00ffull);
	v = (v & 0x0000ffff0000ffffull) << 16 | (v >> 16 & 0x0000ffff0000ffffull);
	v = v << 32 | v >> 32;
	return v >> (64 - (8u << w));
}

/* Executes adc, sbb, adcx, adox, and add and sub that keep CF. The result goes to s->aux;
 * non-zero: it is unknown. */
RA_HELPER int ra_carry(struct ra_state *s, uint64_t a, uint64_t b, uint32_t how)
{
	uint32_t w = how & 3, op = how >> 8 & 0xff, old, old_unk;
	uint64_t m = ra_mask(w), r, c;
	bool known = !(how & 0x10000);

	RA_NULL(s);
	ra_flags(s);
	old = s->fl & FL_CF;
	old_unk = s->fl_unk & FL_CF;
	a &= m;
	b &= m;
	if (op == UOP_ADCX || op == UOP_ADOX) {
		uint32_t f = op == UOP_ADCX ? FL_CF : FL_OF;

		if (s->fl_unk & f)
			known = false;
		c = (s->fl & f) != 0;
		r = (a + b + c) & m;
		s->aux = r;
		ra_flags_set(s, f, r < a || (c && r == a) ? f : 0, known ? 0 : f);
		return !known;
	}
	if (op == UOP_ADDK || op == UOP_SUBK) {
		r = (op == UOP_ADDK ? a + b : a - b) & m;
		ra_flags_lazy(s, op == UOP_ADDK ? RA_LAZY_ADD : RA_LAZY_SUB, w, a, b, r, known, 1);
		ra_flags_set(s, FL_CF, old, old_unk);
		s->aux = r;
		return !known;
	}
	invariant(op == UOP_ADC || op == UOP_SBB);
	if (old_unk)
		known = false;
	r = (op == UOP_ADC ? a + b + old : a - b - old) & m;
	s->aux = r;
	if (how & UF_FLAGS)
		ra_flags_lazy(s, op == UOP_ADC ? RA_LAZY_ADD : RA_LAZY_SUB, w, a, b, r, known, 1);
	return !known;
}

#endif
