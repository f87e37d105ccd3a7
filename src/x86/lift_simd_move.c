/* SPDX-License-Identifier: MIT */
/* Moves between vector registers, mask registers, general registers and memory. */
#include "x86/lift_simd.h"

bool simd_whole(struct simd *x)
{
	int dst = simd_reg(x->op[0]), src = simd_reg(x->op[1]);

	if (x->nop != 2)
		return false;
	if (dst >= 0 && src >= 0) {
		simd_copy(x, dst, src, x->c);
	} else if (dst >= 0 && op_is_mem(x->op[1])) {
		simd_load(x, x->op[1], dst, x->c, x->keep);
	} else if (src >= 0 && op_is_mem(x->op[0])) {
		simd_address(x, x->op[0]);
		simd_emit(x, UOP_VST, 0, src, 0, 0, x->c, x->op[0]->size / 8);
	} else {
		return false;
	}
	simd_retire(x, -1);
	return true;
}

/* Puts a general register, or a value in memory, into dst. */
static bool put(struct simd *x, int dst, const ZydisDecodedOperand *op, int w, int64_t imm)
{
	struct ea ea;
	int reg = simd_gpr(op);

	if (reg < 0) {
		if (!op_is_mem(op))
			return false;
		ea = lift_ea(x->l, op);
		reg = x->loaded = lift_temp(x->l);
		lift_load(x->l, w, reg, ea);
		x->has_memory = true;
	}
	simd_emit(x, UOP_VPUT, w, dst, 0, reg, 0, imm);
	return true;
}

/* Takes bytes from a vector register to a general register or to memory. Returns the register
 * that holds them, or -1. */
static int get(struct simd *x, const ZydisDecodedOperand *op, int src, int w, int64_t at)
{
	int reg = simd_gpr(op), t;
	struct ea ea;

	if (reg >= 0) {
		simd_emit(x, UOP_VGET, w, reg, src, 0, 0, at);
		return reg;
	}
	if (!op_is_mem(op))
		return -1;
	t = lift_temp(x->l);
	simd_emit(x, UOP_VGET, w, t, src, 0, 0, at);
	ea = lift_ea(x->l, op);
	lift_store(x->l, w, t, ea);
	x->has_memory = true;
	return t;
}

/* Retires after get(): its register is a result or was stored. */
static void retire_got(struct simd *x, int reg)
{
	lift_retire(x->l, op_is_mem(x->op[0]) ? UREC_EA | UREC_A(reg, UREC_STORE)
					      : UREC_A(reg, UREC_RESULT));
}

bool simd_movd(struct simd *x)
{
	int dst = simd_reg(x->op[0]), src = simd_reg(x->op[1]), w = x->f.p, t;

	if (x->nop != 2 || dst >= UV_K0 || src >= UV_K0)
		return false;
	/* vmovd with a 64-bit operand is vmovq */
	if (simd_gpr(x->op[0]) >= 0 && x->op[0]->size == 64)
		w = 3;
	if (simd_gpr(x->op[1]) >= 0 && x->op[1]->size == 64)
		w = 3;
	if (dst >= 0 && src >= 0) {
		t = lift_temp(x->l);
		simd_emit(x, UOP_VGET, 3, t, src, 0, 0, 0);
		simd_emit(x, UOP_VPUT, 3, dst, 0, t, 0, x->keep);
	} else if (dst >= 0) {
		if (!put(x, dst, x->op[1], w, x->keep))
			return false;
	} else if (src >= 0) {
		dst = get(x, x->op[0], src, w, 0);
		if (dst < 0)
			return false;
		retire_got(x, dst);
		return true;
	} else {
		return false;
	}
	simd_retire(x, -1);
	return true;
}

/* Lifts movss and movsd. */
bool simd_movs(struct simd *x)
{
	int dst = simd_reg(x->op[0]), w = x->f.p, src = simd_reg(x->op[x->nop - 1]), t;

	if (x->mask)
		return false;
	if (dst >= 0 && op_is_mem(x->op[1])) {
		put(x, dst, x->op[1], w, x->keep);
		simd_retire(x, -1);
		return true;
	}
	if (op_is_mem(x->op[0]) && src >= 0) {
		retire_got(x, get(x, x->op[0], src, w, 0));
		return true;
	}
	if (dst < 0 || src < 0)
		return false;
	t = lift_temp(x->l);
	simd_emit(x, UOP_VGET, w, t, src, 0, 0, 0);
	if (!x->keep)
		simd_copy(x, dst, simd_reg(x->op[1]), 0);
	simd_emit(x, UOP_VPUT, w, dst, 0, t, 0, UV_INSERT);
	simd_retire(x, -1);
	return true;
}

/* Lifts movlps, movhps and the like, which move 8 bytes. */
bool simd_half(struct simd *x)
{
	int64_t at = x->f.kind == K_HIGH ? 8 : 0;
	int dst = simd_reg(x->op[0]), src = simd_reg(x->op[x->nop - 1]);
	struct ea ea;
	int t;

	if (op_is_mem(x->op[0])) {
		retire_got(x, get(x, x->op[0], src, 3, at));
		return true;
	}
	if (dst < 0 || !op_is_mem(x->op[x->nop - 1]))
		return false;
	ea = lift_ea(x->l, x->op[x->nop - 1]);
	t = x->loaded = lift_temp(x->l);
	x->has_memory = true;
	lift_load(x->l, 3, t, ea);
	if (!x->keep)
		simd_copy(x, dst, simd_reg(x->op[1]), 0);
	simd_emit(x, UOP_VPUT, 3, dst, 0, t, 0, at | UV_INSERT);
	simd_retire(x, -1);
	return true;
}

bool simd_insert(struct simd *x)
{
	int dst = simd_reg(x->op[0]), first = x->keep ? dst : simd_reg(x->op[1]), w = x->f.p;
	const ZydisDecodedOperand *from = x->op[x->keep ? 1 : 2];
	int64_t at = (simd_imm(x) << w & 15) | UV_INSERT;

	if (dst < 0 || first < 0)
		return false;
	if (!x->keep && first != dst)
		simd_copy(x, dst, first, 0);
	else if (!x->keep)
		simd_copy(x, dst, dst, 0);
	if (!put(x, dst, from, w, at))
		return false;
	simd_retire(x, -1);
	return true;
}

bool simd_extract(struct simd *x)
{
	int src = simd_reg(x->op[1]), reg;

	if (src < 0)
		return false;
	reg = get(x, x->op[0], src, x->f.p, simd_imm(x) << x->f.p & 15);
	if (reg < 0)
		return false;
	retire_got(x, reg);
	return true;
}

bool simd_bits(struct simd *x)
{
	int dst = simd_gpr(x->op[0]), src = simd_reg(x->op[1]);

	if (dst < 0 || src < 0)
		return false;
	simd_emit(x, UOP_VBITS, x->op[1]->size / 128, dst, src, 0, UC_ELEMENT(x->f.p), 0);
	simd_retire(x, dst);
	return true;
}

bool simd_kmov(struct simd *x)
{
	int dst = simd_reg(x->op[0]), src = simd_reg(x->op[1]), w = x->f.p;

	if (dst >= 0 && src >= 0) {
		simd_emit(x, UOP_KOP, w, dst, src, src, 0, UV_A);
	} else if (dst >= 0) {
		if (!put(x, dst, x->op[1], w, 0))
			return false;
	} else {
		dst = get(x, x->op[0], src, w, 0);
		if (dst < 0)
			return false;
		retire_got(x, dst);
		return true;
	}
	simd_retire(x, -1);
	return true;
}
