/* SPDX-License-Identifier: MIT */
/*
 * The microcode word: what each unit of the co-processor does in one cycle, 128 bits.
 *
 *   63    58 57   52 51   46 45 43 42  39 38   33 32   27 26 24 23  20 19   14 13    8 7   4 3   0
 *  +--------+-------+-------+-----+------+-------+-------+-----+------+-------+-------+-----+-----+
 *  |   0    |  y.b  |  y.a  |y.dst| y.op |  x.b  |  x.a  |x.dst| x.op | alu.b | alu.a | dst | op  |
 *  +--------+-------+-------+-----+------+-------+-------+-----+------+-------+-------+-----+-----+
 *   127             113 112  105 104 103 102 99 98  91 90 85 84 82 81 79 78 76 75 70 69 67 66 64
 *  +-------------------+--------+-------+------+------+-----+-----+-----+-----+-----+-----+-----+
 *  |         0         | br.to  |br.kind| cond | mask | reg | idx |base | m.op| src | idx | c.op|
 *  +-------------------+--------+-------+------+------+-----+-----+-----+-----+-----+-----+-----+
 *
 *   alu   main ALU: operation, value register, two operands       bits   0..19
 *   x, y  index ALUs: operation, index register, two operands     bits  20..38 and 39..57
 *   cam   associative array: operation, index register, operand   bits  64..75
 *   mem   data array: operation, base, index, operand, fields     bits  76..98
 *   br    branch: condition, kind, displacement or register       bits  99..112
 *
 * All operations of a word read registers as the words before left them, and write at the end of the cycle. The branch
 * sees the flags that its own word sets. Operands are numbered:
 *
 *   0..15 value registers   16..31 constants   32..39 index registers   40..47 fields of the sample
 *   48 the random number    49 zero
 */
#ifndef ASSAY_COPROC_WORD_H
#define ASSAY_COPROC_WORD_H

#include <stdbool.h>
#include <stdint.h>

/* Operations of ALUs: name, whether index ALUs have it, whether it writes a register or only
 * sets the flag. */
#define WORD_ALU_OPS(X) \
	X(NOP, "nop", true, false) \
	X(MOV, "mov", true, true) \
	X(ADD, "add", true, true) /* index registers saturate or wrap at their width */ \
	X(SUB, "sub", true, true) \
	X(ADDS, "adds", false, true) /* saturates at 64 bits */ \
	X(SUBS, "subs", false, true) /* saturates at zero */ \
	X(AND, "and", true, true) \
	X(OR, "or", true, true) \
	X(XOR, "xor", false, true) \
	X(SHL, "shl", false, true) /* shifts by 1, 2, 4, 8, 16 or 32 */ \
	X(SHR, "shr", false, true) \
	X(EQ, "eq", true, false) \
	X(NE, "ne", true, false) \
	X(LT, "lt", true, false) /* unsigned comparison */ \
	X(LE, "le", true, false) \
	X(TST, "tst", false, false) /* whether a & b is not 0 */
enum word_alu {
#define X(id, name, index, writes) WORD_##id,
	WORD_ALU_OPS(X)
#undef X
	WORD_ALU_N,
};

enum word_cam {
	CAM_NOP,
	CAM_MATCH, /* index register = the first valid entry that equals the operand; flag hit */
	CAM_ENTER, /* the entry that the index register names becomes the operand, and valid */
	CAM_DROP,  /* the entry that the index register names becomes invalid */
	CAM_N,
};

enum word_mem {
	MEM_NOP,
	MEM_LOAD,  /* a value or index register = the word, or its field */
	MEM_STORE, /* the word, or its field = the operand */
	/* increments the fields of the mask, which saturate; sets flag sat if one of them is
	 * saturated */
	MEM_BUMP,
	MEM_N,
};

#define WORD_CONDITIONS(X) \
	X(NEVER, "never") \
	X(ALWAYS, "always") \
	X(T, "t") \
	X(NOT_T, "!t") \
	X(X, "x") \
	X(NOT_X, "!x") \
	X(Y, "y") \
	X(NOT_Y, "!y") \
	X(HIT, "hit") \
	X(NOT_HIT, "!hit") \
	X(SAT, "sat") \
	X(NOT_SAT, "!sat")
enum word_cond {
#define X(id, name) COND_##id,
	WORD_CONDITIONS(X)
#undef X
	COND_N,
};

enum word_kind {
	BR_RELATIVE, /* to this word's address + to */
	BR_TARGET,   /* to the branch target register `to` */
	BR_DONE,     /* the sample is finished */
	BR_INTERRUPT,
};

#define WORD_VALUES 0
#define WORD_CONSTANTS 16
#define WORD_INDEXES 32
#define WORD_FIELDS 40
#define WORD_RANDOM 48
#define WORD_ZERO 49
#define WORD_OPERANDS 50

struct word {
	struct word_op {
		uint8_t op, dst, a, b;
	} alu, x, y;
	struct {
		uint8_t op, idx, src;
	} cam;
	struct {
		uint8_t op, base, idx, reg, mask;
	} mem;
	struct {
		uint8_t cond, kind;
		int16_t to; /* -128 to 127, or a register number */
	} br;
};

struct word_bits {
	uint64_t low, high;
};

extern const char *const word_alu_name[WORD_ALU_N];
extern const bool word_alu_index[WORD_ALU_N], word_alu_writes[WORD_ALU_N];
extern const char *const word_cond_name[COND_N];

struct word_bits word_encode(const struct word *w);
/*
 * Decodes a word. Returns false if the bytes are invalid: an operation, operand or reserved bit
 * that does not exist, or another form than the one that the assembler writes, in which unused bits
 * are 0, the first index ALU is used before the second, and index ALUs compare index registers.
 */
bool word_decode(struct word *w, struct word_bits b);

#endif
