/* SPDX-License-Identifier: MIT */
/* What the parts of the lifter of integer instructions share: which values an instruction records. */
#ifndef ASSAY_X86_LIFT_INT_H
#define ASSAY_X86_LIFT_INT_H

#include "x86/lift_priv.h"

static inline uint16_t rec_result(int reg)
{
	return UREC_A(reg, UREC_RESULT);
}

static inline uint16_t rec_load_result(int loaded, int result)
{
	return (uint16_t)(UREC_A(loaded, UREC_LOAD) | UREC_B(result, UREC_RESULT) | UREC_EA);
}

static inline uint16_t rec_load(int loaded)
{
	return (uint16_t)(UREC_A(loaded, UREC_LOAD) | UREC_EA);
}

static inline uint16_t rec_store(int stored)
{
	return (uint16_t)(UREC_A(stored, UREC_STORE) | UREC_EA);
}

/* A read-modify-write of memory. */
static inline uint16_t rec_rmw(int loaded, int stored)
{
	return (uint16_t)(UREC_A(loaded, UREC_LOAD) | UREC_B(stored, UREC_STORE) | UREC_EA);
}

/* Writes a result to a register and retires the instruction, which may have loaded an operand (-1: none). */
static inline void lift_finish(struct lift *l, const ZydisDecodedOperand *dst, int result,
			       int loaded)
{
	lift_write(l, dst, result);
	lift_retire(l, loaded >= 0 ? rec_load_result(loaded, result) : rec_result(result));
}

static inline bool op_is_same(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	return op_is_reg(a) && op_is_reg(b) && a->reg.value == b->reg.value;
}

#endif
