/* SPDX-License-Identifier: MIT */
/*
 * Instructions that need not be decoded again. Most of a program's are a few hundred different ones but for
 * their operands: what a decoder said of one holds for all with the same prefixes, opcode, ModRM.reg and kind of
 * operand (register or memory), which are the key here. Where their parts lie is read off the bytes:
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

#define OPCODES 2048		   /* 66, REX.W, 0f, opcode */
#define OPCODE_KEYS (OPCODES * 16) /* … and whether the operand is a register, and ModRM.reg */
#define OPCODE_IMM_MAX 8

enum opcode_operand { /* of OPCODES, as far as it is known */
	OPCODE_UNKNOWN,
	OPCODE_ALONE,
	OPCODE_MODRM,
};

struct opcode {
	uint16_t number; /* below OPCODES */
	uint16_t key;	 /* below OPCODE_KEYS */
	uint8_t rex;	 /* offset + 1, or 0 */
	uint8_t modrm;	 /* offset, if it has one */
	uint8_t disp;	 /* offset, or 0 */
	uint8_t end;	 /* of all but the immediate */
};

/* False: no key. At least 15 bytes can be read at p. */
static inline bool opcode_begin(struct opcode *o, const uint8_t *p)
{
	static const uint64_t one[4] = { 0x3f3f3f3f3f3f3f3full, 0xffff0f08ffff0000ull,
					 0xffff030003012fffull, 0xc0c00b00000f02cbull };
	static const uint64_t two[4] = { 0x0000c30080030000ull, 0xc071f00700f0ffffull,
					 0xfcc88808ffffffffull, 0x4400880008d0ff00ull };
	const uint64_t *set = one;
	unsigned n = 0, number = 0;

	o->rex = 0;
	if (p[n] == 0x66) {
		number = 0x400;
		n++;
	}
	if ((p[n] & 0xf0) == 0x40) {
		number |= p[n] & 8 ? 0x200 : 0;
		o->rex = (uint8_t)++n;
	}
	if (p[n] == 0x0f) {
		number |= 0x100;
		set = two;
		n++;
	}
	o->number = (uint16_t)(number | p[n]);
	o->key = (uint16_t)(o->number * 16);
	o->modrm = o->disp = 0;
	o->end = (uint8_t)(n + 1);
	return set[p[n] >> 6] >> (p[n] & 63) & 1;
}

/* Of one with ModRM: the rest. */
static inline bool opcode_operand(struct opcode *o, const uint8_t *p)
{
	unsigned m = p[o->end], mod = m >> 6, rm = m & 7, n = o->end + 1u;
	unsigned disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	o->modrm = o->end;
	o->key |= (uint16_t)((mod == 3 ? 8 : 0) | (m >> 3 & 7));
	if (mod != 3) {
		if (rm == 4)
			rm = p[n++] & 7;
		if (mod == 0 && rm == 5)
			disp = 4;
	}
	o->disp = (uint8_t)(disp ? n : 0);
	o->end = (uint8_t)(n + disp);
	/* mov with an immediate shares its opcodes with transactions */
	return (o->number & 0x1fe) != 0xc6 || !(m & 0x38);
}

#endif
