/* SPDX-License-Identifier: MIT */
#include "x86/guess.h"

#include <string.h>

#include "base/hash.h"
#include "x86/insn.h"

enum {
	MODRM = 0x40,
	IMM8 = 1,
	IMM16,
	IMMZ,
	IMMV,
	ENTER,
	REL8,
	REL32,
	NOT = 0x20
};

static uint8_t one_byte(uint8_t op)
{
	if (op < 0x40) {
		switch (op & 7) {
		case 4:
			return IMM8;
		case 5:
			return IMMZ;
		case 6:
		case 7:
			return NOT;
		default:
			return MODRM;
		}
	}
	switch (op) {
	case 0x50 ... 0x5f:
	case 0x90 ... 0x99:
	case 0x9b ... 0x9f:
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
	case 0xc3:
	case 0xc9:
	case 0xcb ... 0xcc:
	case 0xf4:
	case 0xf5:
	case 0xf8 ... 0xfd:
		return 0;
	case 0x63:
	case 0x84 ... 0x8e:
	case 0xd0 ... 0xd3:
	case 0xd8 ... 0xdf:
	case 0xfe:
	case 0xff:
		return MODRM;
	case 0x68:
	case 0xa9:
		return IMMZ;
	case 0x6a:
	case 0xa8:
	case 0xb0 ... 0xb7:
		return IMM8;
	case 0x69:
	case 0x81:
	case 0xc7:
	case 0xf7: /* guess_length() decides between the two shapes of F6 and F7 */
		return MODRM | IMMZ;
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xf6:
		return MODRM | IMM8;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xeb:
		return REL8;
	case 0xb8 ... 0xbf:
		return IMMV;
	case 0xc2:
		return IMM16;
	case 0xe8:
	case 0xe9:
		return REL32;
	default:
		return NOT;
	}
}

static uint8_t two_byte(uint8_t op)
{
	switch (op) {
	case 0x05:
	case 0x0b:
	case 0x31:
	case 0x77:
	case 0xa2:
	case 0xc8 ... 0xcf:
		return 0;
	case 0x80 ... 0x8f:
		return REL32;
	case 0x70 ... 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4 ... 0xc6:
		return MODRM | IMM8;
	case 0x10 ... 0x1f:
	case 0x28 ... 0x2f:
	case 0x40 ... 0x6f:
	case 0x74 ... 0x76:
	case 0x7c ... 0x7f:
	case 0x90 ... 0x9f:
	case 0xa3:
	case 0xa5:
	case 0xab:
	case 0xad ... 0xb9:
	case 0xbb ... 0xc1:
	case 0xc3:
	case 0xc7:
	case 0xd0 ... 0xff:
		return MODRM;
	default:
		return NOT;
	}
}

/* The prefixes of an opcode, and their effect. */
struct prefixes {
	bool small, wide; /* operand size: prefix 66, REX.W */
	bool one;	  /* the opcode is in the first map */
	bool scaled;	  /* EVEX: a one-byte displacement counts elements */
};

/* The shape of the opcode after prefixes; *at: past the opcode. */
static uint8_t shape_of(const uint8_t *p, uint32_t *at, struct prefixes *x)
{
	static uint8_t one[256], two[256];
	static bool ready;
	uint32_t i = 0, map;

	if (!ready) {
		for (uint32_t op = 0; op < 256; op++) {
			one[op] = one_byte((uint8_t)op);
			two[op] = two_byte((uint8_t)op);
		}
		ready = true;
	}
	*x = (struct prefixes){ 0 };
	while (i < 4 && (p[i] == 0x66 || p[i] == 0xf2 || p[i] == 0xf3 || p[i] == 0x2e ||
			 p[i] == 0x3e || p[i] == 0x64 || p[i] == 0x65)) {
		x->small |= p[i] == 0x66;
		i++;
	}
	if (p[i] == 0xc5 || p[i] == 0xc4 || p[i] == 0x62) { /* VEX, EVEX */
		x->scaled = p[i] == 0x62;
		map = p[i] == 0xc5 ? 1 : p[i + 1] & (p[i] == 0xc4 ? 31 : 7);
		i += p[i] == 0xc5 ? 2 : p[i] == 0xc4 ? 3 : 4;
		*at = i + 1;
		if (map == 1)
			return (two[p[i]] & 7) < REL8 ? two[p[i]] : NOT;
		return map == 2 ? MODRM : map == 3 ? MODRM | IMM8 : NOT;
	}
	if ((p[i] & 0xf0) == 0x40)
		x->wide = p[i++] >> 3 & 1;
	if (p[i] != 0x0f) {
		x->one = true;
		*at = i + 1;
		return one[p[i]];
	}
	if (p[i + 1] == 0x38 || p[i + 1] == 0x3a) {
		*at = i + 3;
		return p[i + 1] == 0x38 ? MODRM : MODRM | IMM8;
	}
	*at = i + 2;
	return two[p[i + 1]];
}

/* Locates the displacement; i: past the ModRM byte. Returns where it ends. */
static uint32_t guess_disp(struct guess *g, const uint8_t *p, uint32_t i)
{
	uint8_t modrm = p[i - 1], mod = modrm >> 6, rm = modrm & 7;
	uint32_t size = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	if (mod == 3)
		return i;
	if (mod == 0 && rm == 5) {
		g->of_rip = true;
		size = 4;
	} else if (rm == 4) {
		if (mod == 0 && (p[i] & 7) == 5)
			size = 4;
		i++;
	}
	g->disp_at = i;
	g->disp_size = size;
	return i + size;
}

/* Whether the micro-ops of an instruction hold its immediate unchanged. Other immediates (shift
 * counts, selectors of vector elements) may have any effect. */
static bool is_plain(uint8_t op)
{
	return op < 0x40 || (op >= 0x68 && op <= 0x6b) || (op >= 0x80 && op <= 0x83) ||
	       op == 0xa8 || op == 0xa9 || (op >= 0xb0 && op <= 0xbf) || op == 0xc6 || op == 0xc7 ||
	       op == 0xf6 || op == 0xf7;
}

static uint32_t imm_bytes(uint8_t kind, const struct prefixes *x)
{
	static const uint8_t size[8] = { 0, 1, 2, 4, 4, 3, 1, 4 };

	if (kind == IMMZ && x->small)
		return 2;
	if (kind == IMMV)
		return x->wide ? 8 : x->small ? 2 : 4;
	return size[kind];
}

/* Examines an instruction; p: 16 readable bytes. */
static struct guess guess_length(const uint8_t *p)
{
	struct guess g = { 0 };
	struct prefixes x;
	uint32_t i, size;
	uint8_t shape = shape_of(p, &i, &x), kind = shape & 7, op;

	if (shape & NOT)
		return g;
	op = p[i - 1];
	if (shape & MODRM) {
		uint8_t modrm = p[i++];

		if ((op == 0xf6 || op == 0xf7) && kind && (modrm >> 3 & 7) > 1)
			kind = 0;
		i = guess_disp(&g, p, i);
		if (x.scaled && g.disp_size == 1)
			g.disp_size = 0;
	}
	size = imm_bytes(kind, &x);
	g.branches = kind >= REL8;
	if (g.branches || (size && x.one && is_plain(op))) {
		g.imm_at = i;
		g.imm_size = size;
	}
	g.len = i + size;
	if (g.len > INSN_MAX_LEN)
		g.len = 0;
	return g;
}

int64_t guess_value(const uint8_t *p, uint32_t size)
{
	int64_t v = 0;

	if (!size)
		return 0;
	memcpy(&v, p, 8);
	return (int64_t)((uint64_t)v << (64 - 8 * size)) >> (64 - 8 * size);
}

/*
 * Kinds of values that lifting may treat differently. In the key, the kind takes the place of the
 * value's first byte. All values of one kind have the same size and sign, so that zero- or
 * sign-extension changes them alike.
 */
enum {
	VALUE_ZERO,
	VALUE_POSITIVE,
	VALUE_NEGATIVE,
	VALUE_ONE,
	VALUE_MINUS_ONE
};

static uint8_t kind_of_value(int64_t v)
{
	if (v == 0)
		return VALUE_ZERO;
	if (v == 1)
		return VALUE_ONE;
	if (v == -1)
		return VALUE_MINUS_ONE;
	return v > 0 ? VALUE_POSITIVE : VALUE_NEGATIVE;
}

static uint32_t hash(const uint64_t key[2])
{
	uint64_t h = hash_mix(key[0] ^ key[1] * 0xc2b2ae3d27d4eb4full);

	return (uint32_t)hash_bits(h ^ h >> 29, GUESS_HASH_BITS);
}

/* The lower n of 8 bytes. */
static uint64_t low_bytes(int n)
{
	return n <= 0 ? 0 : n >= 8 ? ~0ull : (1ull << 8 * n) - 1;
}

/* Puts a value's kind into the key in place of its bytes. */
static void leave_out(uint64_t key[2], uint32_t at, uint32_t size, uint8_t kind)
{
	int from = (int)at, to = (int)(at + size);

	if (!size)
		return;
	key[0] &= ~(low_bytes(to) ^ low_bytes(from));
	key[1] &= ~(low_bytes(to - 8) ^ low_bytes(from - 8));
	key[at / 8] |= (uint64_t)kind << at % 8 * 8;
}

struct guess guess_insn(const uint8_t *p)
{
	struct guess g = guess_length(p);
	int len = (int)g.len;

	memcpy(g.key, p, 16);
	g.key[0] &= low_bytes(len);
	g.key[1] &= low_bytes(len - 8);
	leave_out(g.key, g.disp_at, g.disp_size,
		  g.of_rip ? 0 : kind_of_value(guess_value(p + g.disp_at, g.disp_size)));
	leave_out(g.key, g.imm_at, g.imm_size,
		  g.branches ? 0 : kind_of_value(guess_value(p + g.imm_at, g.imm_size)));
	g.hash = hash(g.key);
	return g;
}

bool guess_is_right(const struct guess *g, const struct insn *in)
{
	bool rip = in->z.attributes & ZYDIS_ATTRIB_HAS_MODRM && in->z.raw.modrm.mod == 0 &&
		   in->z.raw.modrm.rm == 5;

	if (g->len != in->len || g->branches != insn_has_target(in) || g->of_rip != rip ||
	    (g->branches && !in->z.raw.imm[0].is_relative))
		return false;
	if (g->disp_size &&
	    (in->z.raw.disp.offset != g->disp_at || in->z.raw.disp.size != 8 * g->disp_size))
		return false;
	return !g->imm_size ||
	       (in->z.raw.imm[0].offset == g->imm_at && in->z.raw.imm[0].size == 8 * g->imm_size);
}

bool guess_is_fixed(int64_t v)
{
	uint8_t kind = kind_of_value(v);

	return kind != VALUE_POSITIVE && kind != VALUE_NEGATIVE;
}
