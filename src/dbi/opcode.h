/* SPDX-License-Identifier: MIT */
/*
 * Instructions that need not be decoded again. Most of a program's are a few hundred different ones but for
 * their operands: what a decoder said of one holds for all with the same prefixes, opcode, kind of operand (register
 * or memory) and, where that is part of the opcode, ModRM.reg: these are the key here. Where their parts lie is read off
 * the bytes:
 *
 *   [66] [REX] opcode | 0f opcode   [ModRM [SIB] [disp]]   [imm]
 *
 * No other prefixes, no VEX, no maps of three bytes, no opcode that depends on more: those have no key. Whether an
 * opcode has a ModRM byte, and how many bytes of immediate, the decoder has said before, too.
 */
#ifndef ASSAY_DBI_OPCODE_H
#define ASSAY_DBI_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPCODES 2048 /* 66, REX.W, 0f, opcode */
/* Keys: these and whether the operand is a register; behind them groups: 66, REX.W, of the opcode what tells them apart,
 * whether the operand is a register, ModRM.reg. */
#define OPCODE_GROUPS (2 * OPCODES)
#define OPCODE_KEYS (2 * OPCODE_GROUPS)
#define OPCODE_IMM_MAX 8

enum opcode_operand { /* of OPCODES, as far as it is known */
	OPCODE_UNKNOWN,
	OPCODE_ALONE,
	OPCODE_MODRM,
};

struct opcode {
	unsigned number; /* below OPCODES */
	unsigned key;	 /* below OPCODE_KEYS */
	unsigned rex;	 /* offset + 1, or 0 */
	unsigned modrm;	 /* offset, if it has one */
	unsigned disp;	 /* offset, or 0 */
	unsigned end;	 /* of all but the immediate */
};

static inline bool opcode_in(const uint64_t set[8], unsigned number)
{
	return set[number >> 6 & 7] >> (number & 63) & 1;
}

/* Whether it has a key. */
static inline bool opcode_has_key(const struct opcode *o)
{
	static const uint64_t keyed[8] = { 0x3f3f3f3f3f3f3f3full, 0xffff0f08ffff0000ull,
					   0xffff030003012fffull, 0xc0c00b00000f02cbull,
					   0x0000c30080030000ull, 0xc071f00700f0ffffull,
					   0xfcc88808ffffffffull, 0x4400880008d0ff00ull };

	return opcode_in(keyed, o->number);
}

/* At least 15 bytes can be read at p. */
static inline void opcode_begin(struct opcode *o, const uint8_t *p)
{
	unsigned n = 0, number = 0, byte = p[0];

	o->rex = 0;
	if (byte == 0x66) {
		number = 0x400;
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

/* Of one with ModRM: the rest. False: no key. */
static inline bool opcode_operand(struct opcode *o, const uint8_t *p)
{
	/* ModRM.reg is part of the opcode: 80-83, c0, c1, c6, c7, d0-d3, f6, f7, fe, ff, 0f ba */
	static const uint64_t groups[8] = {
		[2] = 0xf, [3] = 0xc0c00000000f00c3ull, [6] = 1ull << 58
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
		unsigned op = o->number & 0xff;

		/* six bits that tell them apart */
		op = (op >> 1 & 0x38) | (op >> 1 & 4) | (op & 3);
		o->key = OPCODE_GROUPS | (o->number & 0x600) << 1 | op << 4 | (m >= 0xc0) << 3 |
			 (m >> 3 & 7);
	}
	/* mov with an immediate shares its opcodes with transactions */
	return (o->number & 0x1fe) != 0xc6 || !(m & 0x38);
}

#endif
