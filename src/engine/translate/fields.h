/* SPDX-License-Identifier: MIT */
/* The values of an instruction that go into the stream, and what is known about how they are
 * computed. */
#ifndef ASSAY_ENGINE_TRANSLATE_FIELDS_H
#define ASSAY_ENGINE_TRANSLATE_FIELDS_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/core/registers.h"

/* Kinds of values that are observed. */
#define F_ADDRESS 1
#define F_LOAD 2
#define F_RESULT 4
#define F_RESULT2 8
#define F_STORE 16
#define F_RETURN 32
#define F_ARGS 64
#define F_TARGET 128
#define F_LOADED 256 /* the value that F_LOAD reads, with accesses in order: EXACT_LOADED */

#define HIGH_BYTE 1 /* a number of bits that means bits 8 to 15 of a register */

/* How the value of `dest` is computed. */
enum makes {
	MAKES_UNKNOWN,	/* any value of `bits` bits, zero-extended */
	MAKES_CONSTANT, /* the constant imm */
	/* base + index * scale + imm, with base narrowed to src_bits first, and the sum to
	 * `bits` */
	MAKES_SUM,
	MAKES_LOAD, /* the loaded value of src_bits bits, zero-extended */
};

/* A memory access, for EXACT_ORDER. */
struct order_access {
	int64_t disp;
	uint16_t size; /* bytes; those of an element if the instruction repeats */
	uint8_t kind;  /* enum exact_access */
	uint8_t base, index, scale;
	bool rip, fs;
};

struct stream_fields {
	uint16_t used;	  /* registers that the instruction names or uses */
	uint16_t written; /* registers that the instruction changes */
	uint16_t read;	  /* registers whose old value is needed, or kept in part */
	uint16_t mask;	  /* set of F_ bits */
	uint8_t result[2], result_bits[2];
	/* the memory operand */
	uint8_t base, index, scale, size; /* size: 1, 2, 4, 8 bytes of the value */
	bool rip;			  /* disp is relative to the next instruction */
	uint8_t stored;			  /* the register that is stored, or NO_REG */
	bool stores_imm;		  /* the immediate is stored */
	int8_t stack;	   /* constant added to rsp, which is not in `written` then */
	uint8_t dest;	   /* the whole register that is written, or NO_REG */
	bool load_in_dest; /* the low bits of `dest` are the loaded value */
	uint8_t makes, bits;
	uint8_t src_base, src_index, src_scale, src_bits;
	int64_t disp, imm;
	struct order_access access[2]; /* accesses in their order */
	uint8_t accesses;
	bool repeats, /* the instruction repeats rcx times */
		stops; /* the instruction may stop early: it repeats rcx times minus the final value of rcx */
};

/* Fills in the kinds of values that log_mode asks for. `next`: the following instruction's address. */
void stream_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op, uint64_t next);
/* Fills in the instruction's accesses, after stream_fields(). */
void order_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		  const ZydisDecodedOperand *op);
/* Returns the general register that a register is, or is a part of; NO_REG for others. */
static inline unsigned general_register(ZydisRegister r)
{
	/* Zydis numbers them AL CL DL BL AH CH DH BH SPL BPL SIL DIL R8B to R15B. */
	static const uint8_t byte_reg[20] = { 0, 1, 2, 3, 0,  1,  2,  3,  4,  5,
					      6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_R15B)
		return byte_reg[r - ZYDIS_REGISTER_AL];
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
		return r - ZYDIS_REGISTER_AX;
	if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
		return r - ZYDIS_REGISTER_EAX;
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return r - ZYDIS_REGISTER_RAX;
	return NO_REG;
}
/* Whether the instruction names memory that it neither reads nor writes: nop, and cache flushes;
 * not prefetches. */
bool only_names(const ZydisDecodedInstruction *d);

#endif
