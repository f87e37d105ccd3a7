/* SPDX-License-Identifier: MIT */
/* What the stream gets of an instruction, and what is known of the values that it makes. */
#ifndef ASSAY_ENGINE_TRANSLATE_FIELDS_H
#define ASSAY_ENGINE_TRANSLATE_FIELDS_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

/* What is observed of it. */
#define F_ADDRESS 1
#define F_LOAD 2
#define F_RESULT 4
#define F_RESULT2 8
#define F_STORE 16
#define F_RETURN 32
#define F_ARGS 64
#define F_TARGET 128
#define F_LOADED 256 /* what F_LOAD reads, beside accesses in order: EXACT_LOADED */

#define HIGH_BYTE 1 /* for bits: bits 8 to 15 of a register */

/* How the value of `dest` comes about. */
enum makes {
	MAKES_UNKNOWN,	/* of `bits`, zero-extended */
	MAKES_CONSTANT, /* imm */
	MAKES_SUM,  /* base + index * scale + imm, base narrowed to src_bits first, all to `bits` */
	MAKES_LOAD, /* what was loaded, src_bits, zero-extended */
};

/* An access, for EXACT_ORDER. */
struct order_access {
	int64_t disp;
	uint16_t size; /* bytes; of an element where the instruction repeats */
	uint8_t kind;  /* enum exact_access */
	uint8_t base, index, scale;
	bool rip, fs;
};

struct stream_fields {
	uint16_t used;	  /* registers that it names or uses */
	uint16_t written; /* registers that it changes */
	uint16_t read;	  /* registers whose old value it needs, or keeps in part */
	uint16_t mask;	  /* F_… */
	uint8_t result[2], result_bits[2];
	/* the memory operand */
	uint8_t base, index, scale, size; /* size: 1, 2, 4, 8 bytes of the value */
	bool rip;			  /* disp is from the next instruction */
	uint8_t stored;			  /* the register it stores, or NO_REG */
	bool stores_imm;		  /* it stores its immediate */
	int8_t stack;			  /* rsp's step; rsp is not in `written` then */
	uint8_t dest;			  /* whole register, or NO_REG */
	bool load_in_dest;		  /* the value loaded is its low bits */
	uint8_t makes, bits;
	uint8_t src_base, src_index, src_scale, src_bits;
	int64_t disp, imm;
	struct order_access access[2]; /* in their order */
	uint8_t accesses;
	bool repeats,  /* rcx times */
		stops; /* it stops early: rcx times less what is left in rcx */
};

/* Of the kinds that log_mode asks for. `next`: the following instruction's address. */
void stream_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op, uint64_t next);
/* Its accesses, after stream_fields. */
void order_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		  const ZydisDecodedOperand *op);
/* The general register that a register is, or is a part of; NO_REG for others. */
unsigned general_register(ZydisRegister r);
/* Names memory that it neither reads nor writes: nop, and what empties caches; not prefetches. */
bool only_names(const ZydisDecodedInstruction *d);

#endif
