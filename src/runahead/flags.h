/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The run-ahead interpreter's status flags: kept as the operation that set them until one is read.
 *
 * Code that runs for every micro-op is written without branches: in an interpreter each branch
 * depends on the program's data, and costs more than it saves.
 */
#ifndef ASSAY_RUNAHEAD_FLAGS_H
#define ASSAY_RUNAHEAD_FLAGS_H

#include "base/invariant.h"
#include "runahead/state.h"

#ifdef __clang__
#define RA_UNROLL _Pragma("unroll")
#else
#define RA_UNROLL _Pragma("GCC unroll 8")
#endif
#define RA_INLINE static inline __attribute__((always_inline))
#ifdef __bpf__
/* The verifier checks each helper once by itself, and wants the pointer checked. */
#define RA_HELPER __attribute__((noinline))
#define RA_NULL(s) \
	if (!(s)) \
	return -1
#else
#define RA_HELPER static
#define RA_NULL(s) (void)0
#endif

RA_INLINE uint64_t ra_mask(uint32_t w)
{
	return ~0ull >> (64 - (8u << w));
}

RA_INLINE uint64_t ra_sign_extend(uint64_t v, uint32_t w)
{
	uint32_t sh = 64 - (8u << w);

	return (uint64_t)((int64_t)(v << sh) >> sh);
}

/*
 * Returns 1 if v is not 0. The compiler must not make a branch of it, because each branch doubles
 * what the verifier has to follow. A constant mask on copies of one bit makes the verifier branch
 * as well (Linux 6.18), so frequent code avoids it, too.
 */
RA_INLINE uint64_t ra_nonzero(uint64_t v)
{
	uint64_t negative = -v;

	asm("" : "+r"(negative));
	return (v | negative) >> 63;
}

/* PF: whether the low byte has an even number of set bits. */
RA_INLINE uint32_t ra_parity(uint64_t r)
{
	return (uint32_t)(0x9669 >> ((r ^ r >> 4) & 15) & 1) * FL_PF;
}

/* ZF, SF, PF of r, which fits the width. */
RA_INLINE uint32_t ra_flags_zsp(uint64_t r, uint32_t w)
{
	return (uint32_t)(ra_nonzero(r) ^ 1) * FL_ZF |
	       (uint32_t)(r >> ((8u << w) - 1) & 1) * FL_SF | ra_parity(r);
}

/*
 * Returns the flags of the operation in l: FL_* in the low half, unknown ones in the high half.
 * Carries are computed from operands and result alone, so they hold with a carry in too.
 */
RA_INLINE uint64_t ra_flags_of(const struct ra_lazy *l)
{
	uint32_t kind = l->kind, w = l->width & 3;
	uint64_t m = ra_mask(w), r = l->r & m, b = l->b & m, fl, carry;
	uint64_t sub = -(uint64_t)(kind & RA_LAZY_SUB_BIT);
	uint64_t p = (l->a ^ sub) & m, q = (r ^ ~sub) & m;
	uint32_t top = (8u << w) - 1;

	carry = ((p & b) | ((p | b) & q)) & -(uint64_t)(kind >> 1 & 1);
	fl = ra_flags_zsp(r, w) | (carry >> top & 1) * FL_CF | (carry & 8) << 1 |
	     ((carry ^ carry << 1) >> top & 1) * FL_OF;
	return fl | (uint64_t)(kind / RA_LAZY_LOGIC & 1) * FL_AF << 32;
}

/* Converts the flags from the lazy form to fl and fl_unk. */
RA_HELPER int ra_flags(struct ra_state *s)
{
	uint64_t fl;

	RA_NULL(s);
	if (s->lazy.kind == RA_LAZY_READY)
		return 0;
	if (s->lazy.kind == RA_LAZY_UNKNOWN) {
		s->fl_unk = FL_STATUS;
	} else {
		invariant(s->lazy.width <= 3);
		fl = ra_flags_of(&s->lazy);
		s->fl = (uint32_t)fl;
		s->fl_unk = (uint32_t)(fl >> 32);
	}
	s->lazy.kind = RA_LAZY_READY;
	return 0;
}

/* Notes an operation from which all status flags can be computed later; changes nothing if `wanted` is 0. */
RA_INLINE void ra_flags_lazy(struct ra_state *s, uint32_t kind, uint32_t w, uint64_t a, uint64_t b,
			     uint64_t r, uint32_t known, uint32_t wanted)
{
	struct ra_lazy *l = wanted ? &s->lazy : &s->unwanted;

	invariant(kind >= RA_LAZY_ADD && kind <= RA_LAZY_LOGIC && w <= 3 && known <= 1);
	l->kind = kind & -known; /* RA_LAZY_UNKNOWN is 0 */
	l->width = w;
	l->a = a;
	l->b = b;
	l->r = r;
}

/* Sets the flags in `which` to those in fl; those in `unk` become unknown. */
RA_INLINE void ra_flags_set(struct ra_state *s, uint32_t which, uint32_t fl, uint32_t unk)
{
	invariant(!(which & ~FL_STATUS));
	ra_flags(s);
	s->fl = (s->fl & ~which) | (fl & which);
	s->fl_unk = (s->fl_unk & ~which) | (unk & which);
}

RA_INLINE void ra_flags_forget(struct ra_state *s)
{
	s->lazy.kind = RA_LAZY_UNKNOWN;
}

/* Returns condition cc: 0, 1, or -1 if it is unknown. */
RA_INLINE int ra_cond_here(const struct ra_state *s, uint32_t cc)
{
	/* The flags that decide the condition, indexed by cc / 2, 16 bits each; the condition
	 * holds if one is set. LT stands for SF != OF. */
	const uint64_t low = (uint64_t)FL_OF | (uint64_t)FL_CF << 16 | (uint64_t)FL_ZF << 32 |
			     (uint64_t)(FL_CF | FL_ZF) << 48;
	const uint64_t high = (uint64_t)FL_SF | (uint64_t)FL_PF << 16 | (uint64_t)RA_FL_LT << 32 |
			      (uint64_t)(RA_FL_LT | FL_ZF) << 48;
	uint32_t sh = (cc >> 1 & 3) * 16;
	uint32_t need = (low >> sh ^ ((low ^ high) >> sh & -(uint64_t)(cc >> 3 & 1))) & 0xffff;
	uint32_t fl, unk;
	uint64_t f;

	invariant(cc < 16);
	if (s->lazy.kind == RA_LAZY_READY) {
		fl = s->fl;
		unk = s->fl_unk;
	} else {
		f = ra_flags_of(&s->lazy);
		fl = (uint32_t)f;
		unk = (uint32_t)(f >> 32) | (uint32_t)(ra_nonzero(s->lazy.kind) - 1);
	}
	fl |= (fl * (RA_FL_LT / FL_SF) ^ fl * (RA_FL_LT / FL_OF)) & RA_FL_LT;
	unk |= (unk * (RA_FL_LT / FL_SF) | unk * (RA_FL_LT / FL_OF)) & RA_FL_LT;
	if (unk & need)
		return -1;
	return (int)(ra_nonzero(fl & need) ^ (cc & 1));
}

RA_HELPER int ra_cond(struct ra_state *s, uint32_t cc)
{
	RA_NULL(s);
	return ra_cond_here(s, cc);
}

#endif
