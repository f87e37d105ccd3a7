/* SPDX-License-Identifier: MIT */
/* Declarations shared by the parts of the lifter. */
#ifndef ASSAY_X86_LIFT_PRIV_H
#define ASSAY_X86_LIFT_PRIV_H

#include "x86/lift.h"
#include "x86/reg.h"

/* An instruction that is being lifted. */
struct lift {
	const struct insn *in;
	struct uop *out;
	int n;
	int temp;      /* next free temporary */
	uint16_t live; /* status flags that are needed after the instruction */
};

typedef void lift_fn(struct lift *l);

/* An effective address, as UOP_LD and UOP_ST take it. */
struct ea {
	uint8_t a, b, c;
	int64_t imm;
};

/* A source: a register, which the micro-op masks to its width, or an immediate. */
struct src {
	int reg; /* register, or -1: imm is the value */
	int64_t imm;
};

static inline int lift_width(const ZydisDecodedOperand *op)
{
	return op->size == 64 ? 3 : op->size == 32 ? 2 : op->size == 16 ? 1 : 0;
}

static inline bool op_is_mem(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static inline bool op_is_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

int lift_temp(struct lift *l);
struct uop *lift_emit(struct lift *l, int op, int w, int dst, int a, int b, int c);
struct uop *lift_emit_imm(struct lift *l, int op, int w, int dst, int a, int64_t imm, int c);
/* Emits a micro-op with this source, which is a register or an immediate. */
struct uop *lift_emit_src(struct lift *l, int op, int w, int dst, int a, struct src s, int c);
void lift_load(struct lift *l, int w, int dst, struct ea ea);
void lift_store(struct lift *l, int w, int data, struct ea ea);
void lift_move(struct lift *l, int dst, int src);

struct ea lift_ea(struct lift *l, const ZydisDecodedOperand *op);
struct ea lift_at(int reg, int64_t disp);
/* The value of a register or immediate operand; high bytes are extracted. */
struct src lift_value(struct lift *l, const ZydisDecodedOperand *op);
/* Reads any operand into a register; memory is loaded (*ea: its address). */
int lift_operand(struct lift *l, const ZydisDecodedOperand *op, struct ea *ea);
/* The destination for a result of the register operand: the register, or a temporary that
 * lift_write merges. */
int lift_dst(struct lift *l, const ZydisDecodedOperand *op);
void lift_write(struct lift *l, const ZydisDecodedOperand *op, int from);
void lift_write_reg(struct lift *l, int reg, int w, bool high, int from);

/* Makes the last micro-op retire the instruction and record `rec`. */
void lift_retire(struct lift *l, uint16_t rec);
void lift_stop(struct lift *l, int why);
/* UF_FLAGS if any of these flags is needed after the instruction. */
static inline uint8_t lift_flags(const struct lift *l, uint16_t sets)
{
	return l->live & sets ? UF_FLAGS : 0;
}

lift_fn lift_fallback; /* lifts whatever is not integer code */
/* Lifts a vector instruction whose results are tracked; false if `l` is none. */
bool lift_simd(struct lift *l);
/* enum uop_vreg of a vector or mask register, or -1. */
int lift_vreg(ZydisRegister r);
/* lift_int.c */
lift_fn lift_mul_wide, lift_alu, lift_compare, lift_unary, lift_shift, lift_three, lift_count,
	lift_adx, lift_bit_test, lift_imul, lift_mulx, lift_div, lift_crc32, lift_convert;
/* lift_move.c */
lift_fn lift_mov, lift_extend, lift_movbe, lift_bswap, lift_lea, lift_xchg, lift_xadd, lift_cmpxchg,
	lift_cmpxchg_wide, lift_cmov, lift_setcc, lift_lahf, lift_sahf, lift_carry_flag;
lift_fn lift_string, lift_xlat;
lift_fn lift_unknown_registers;
lift_fn lift_push, lift_pop, lift_pushf, lift_popf, lift_leave, lift_enter;
lift_fn lift_call, lift_ret, lift_jmp, lift_jcc, lift_loop, lift_jrcxz;

/* x86's condition number of jcc, setcc and cmovcc mnemonics, or -1. */
int lift_condition(ZydisMnemonic m);

#endif
