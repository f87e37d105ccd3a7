/* SPDX-License-Identifier: MIT */
/*
 * Instructions that need not be decoded again. Most of a program's are a few hundred different ones but for
 * their operands: what a decoder said of one holds for all with the same prefixes, opcode, kind of operand (register
 * or memory) and, where that is part of the opcode, ModRM.reg: these are the key here. Where their parts lie is read off
 * the bytes:
 *
 *   [66 | f3 | f2] [REX] opcode | 0f opcode   [ModRM [SIB] [disp]]   [imm]
 *
 * and before or behind the first of them 64, 2e or 3e, which change nothing here. No other prefixes, no VEX, no maps of
 * three bytes, no opcode that depends on more: those have no key. Whether an opcode has a ModRM byte, and how many bytes
 * of immediate, the decoder has said before, too.
 */
#ifndef ASSAY_X86_OPCODE_H
#define ASSAY_X86_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPCODES 4096	/* which of 66 f3 f2, REX.W, 0f, opcode */
#define OPCODE_NONE 0xf /* key of instructions without a key */
#define OPCODE_PREFIXES 2
/* Keys: these and whether the operand is a register; behind them groups: prefix, REX.W, of the opcode what tells them
 * apart, whether the operand is a register, ModRM.reg. */
#define OPCODE_GROUPS (2 * OPCODES)
#define OPCODE_KEYS (2 * OPCODE_GROUPS)
#define OPCODE_IMM_MAX 8

enum opcode_operand { /* of OPCODES, as far as it is known */
	OPCODE_UNKNOWN,
	OPCODE_ALONE,
	OPCODE_MODRM,
};

struct opcode {
	unsigned number; /* number below OPCODES */
	unsigned key;	 /* number below OPCODE_KEYS */
	unsigned rex;	 /* offset + 1, or 0 */
	unsigned modrm;	 /* offset of ModRM, if there is one */
	unsigned disp;	 /* offset, or 0 */
	unsigned end;	 /* length without the immediate */
};

static inline bool opcode_in(const uint64_t set[8], unsigned number)
{
	return set[number >> 6 & 7] >> (number & 63) & 1;
}

/* Whether it has a key. 90 has none: whether it is nop, pause or xchg is up to the prefixes together. */
static inline bool opcode_has_key(const struct opcode *o)
{
	static const uint64_t keyed[8] = { 0x3f3f3f3f3f3f3f3full, 0xffffff08ffff0000ull,
					   0xfffffff0fbfe2ffbull, 0xfff2fbff118f9ecfull,
					   0x00bfff00e3ff4becull, 0xf2ffffffffffffffull,
					   0xffffbf3fffffffffull, 0xffffffffffffff7full };

	return opcode_in(keyed, o->number);
}

/* 2e 3e 64 66 f2 f3 */
static inline bool opcode_is_prefix(unsigned byte)
{
	static const uint64_t prefixes[4] = {
		[0] = 0x4000400000000000ull, [1] = 0x5000000000ull, [3] = 0xc000000000000ull
	};

	return prefixes[byte >> 6] >> (byte & 63) & 1;
}

/* Finds the key and parts of an instruction. At least 15 bytes can be read at p. */
static inline void opcode_begin(struct opcode *o, const uint8_t *p)
{
	unsigned n = 0, number = 0, byte = p[0];

	o->rex = 0;
	while (opcode_is_prefix(byte)) {
		unsigned is = byte == 0x66   ? 0x400
			      : byte == 0xf3 ? 0x800
			      : byte == 0xf2 ? 0xc00
					     : 0;

		if (n == OPCODE_PREFIXES || (is && number)) {
			o->number = OPCODE_NONE;
			o->key = 2 * OPCODE_NONE;
			o->modrm = o->disp = 0;
			o->end = n;
			return;
		}
		number |= is;
		byte = p[++n];
	}
	if ((byte & 0xf0) == 0x40) {
		number |= (byte & 8) << 6;
		byte = p[++n];
		o->rex = n;
	}
	if (byte == 0x0f) {
		number |= 0x100;
		byte = p[++n];
	}
	o->number = number |= byte;
	o->key = number * 2;
	o->modrm = o->disp = 0;
	o->end = n + 1;
}

/* Parses the rest of an instruction with ModRM. False: no key. */
static inline bool opcode_operand(struct opcode *o, const uint8_t *p)
{
	/* ModRM.reg is part of the opcode: 80-83, c0, c1, c6, c7, d0-d3, f6, f7, fe, ff, 0f 71-73, 0f ba */
	static const uint64_t groups[8] = {
		[2] = 0xf, [3] = 0xc0c00000000f00c3ull, [5] = 7ull << 49, [6] = 1ull << 58
	};
	/* by mod and rm: bytes of ModRM, SIB and displacement; of the displacement, times 16 */
	static const uint8_t sizes[32] = {
		0x01, 0x01, 0x01, 0x01, 0x02, 0x45, 0x01, 0x01, 0x12, 0x12, 0x12,
		0x12, 0x13, 0x12, 0x12, 0x12, 0x45, 0x45, 0x45, 0x45, 0x46, 0x45,
		0x45, 0x45, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
	};
	unsigned n = o->end, m = p[n], size = sizes[(m >> 3 & 0x18) | (m & 7)];

	o->modrm = n;
	if ((m & 0xc7) == 4 && (p[n + 1] & 7) == 5)
		size = 0x46;
	o->end = n += size & 15;
	o->disp = size >> 4 ? n - (size >> 4) : 0;
	o->key |= m >= 0xc0;
	if (opcode_in(groups, o->number)) {
		unsigned op = o->number & 0xff, mmx = op < 0x80 ? 8 : 0;

		/* six bits that tell them apart */
		op = ((op >> 1 & 0x38) | (op >> 1 & 4) | (op & 3)) ^ mmx;
		o->key = OPCODE_GROUPS | (o->number & 0xe00) << 1 | op << 4 | (m >= 0xc0) << 3 |
			 (m >> 3 & 7);
	}
	/* mov with an immediate shares its opcodes with transactions */
	return (o->number & 0x1fe) != 0xc6 || !(m & 0x38);
}

#endif
