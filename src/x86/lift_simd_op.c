/* SPDX-License-Identifier: MIT */
/* Operations on vectors and masks: logic, integer arithmetic, comparisons, permutations. */
#include "x86/lift_simd.h"

bool simd_logic(struct simd *x)
{
	int dst, a, b, table = x->f.imm;

	if (!simd_operands(x, &dst, &a, &b))
		return false;
	if (a == b && table == UV_XOR)
		table = 0;
	if (a == b && table == UV_ANDN)
		table = 0;
	simd_emit(x, UOP_VLOGIC, x->w, dst, a, b, x->c, table | x->keep);
	simd_retire(x, -1);
	return true;
}

/* Chooses, by the third source's bits, one of two tables of the first two. */
bool simd_ternary(struct simd *x)
{
	int dst = simd_reg(x->op[0]), a = simd_reg(x->op[1]), b, one = 0, zero = 0;
	int64_t imm = simd_imm(x);

	if (x->nop != 4 || dst < 0 || a < 0)
		return false;
	for (int i = 0; i < 4; i++) {
		zero |= (int)(imm >> (2 * i) & 1) << i;
		one |= (int)(imm >> (2 * i + 1) & 1) << i;
	}
	b = simd_source(x, x->op[2]);
	simd_emit(x, UOP_VLOGIC, x->w, x->temp, dst, a, 0, zero);
	simd_emit(x, UOP_VLOGIC, x->w, x->temp + 1, dst, a, 0, one);
	if (zero == one) {
		simd_copy(x, dst, x->temp, x->c);
	} else {
		simd_emit(x, UOP_VLOGIC, x->w, x->temp, x->temp, b, 0, UV_A & ~UV_B);
		simd_emit(x, UOP_VLOGIC, x->w, x->temp + 1, x->temp + 1, b, 0, UV_AND);
		simd_emit(x, UOP_VLOGIC, x->w, dst, x->temp, x->temp + 1, x->c, UV_OR);
	}
	simd_retire(x, -1);
	return true;
}

bool simd_arith(struct simd *x)
{
	int dst, a, b, op = x->f.imm & 15, swap;

	if (!simd_operands(x, &dst, &a, &b))
		return false;
	if (op == UVA_LT) {
		swap = a;
		a = b;
		b = swap;
	}
	if (dst >= UV_K0)
		simd_emit(x, UOP_VCMP, x->w, dst, a, b, x->c, op == UVA_EQ ? 0 : 1 | UV_SIGNED);
	else if (a == b && (op == UVA_EQ || op == UVA_SUB))
		simd_emit(x, UOP_VLOGIC, x->w, dst, a, b, x->c, (op == UVA_EQ ? 15 : 0) | x->keep);
	else
		simd_emit(x, UOP_VARITH, x->w, dst, a, b, x->c, x->f.imm | x->keep);
	simd_retire(x, -1);
	return true;
}

bool simd_compare(struct simd *x)
{
	int dst, a, b;
	int64_t how = x->f.imm;

	if (x->f.kind == K_PCMP)
		how |= simd_imm(x) & 7;
	else
		how |= UV_TEST;
	if (!simd_operands(x, &dst, &a, &b))
		return false;
	simd_emit(x, UOP_VCMP, x->w, dst, a, b, x->c, how);
	simd_retire(x, -1);
	return true;
}

bool simd_broadcast(struct simd *x)
{
	int dst = simd_reg(x->op[0]), src = simd_reg(x->op[1]);

	if (x->mask && !op_is_reg(x->op[1]))
		return false; /* a masked source need not be readable */
	if (simd_gpr(x->op[1]) >= 0) {
		src = x->temp++;
		simd_emit(x, UOP_VPUT, x->f.p, src, 0, simd_gpr(x->op[1]), 0, 0);
	} else if (src < 0) {
		src = x->temp++;
		simd_load(x, x->op[1], src, 0, 0);
	}
	simd_emit(x, UOP_VBC, x->w, dst, src, 0, x->c, 0);
	simd_retire(x, -1);
	return true;
}

bool simd_shuffle(struct simd *x)
{
	int dst = simd_reg(x->op[0]), a, b;
	int64_t imm = x->f.imm;

	if (imm < 0)
		imm = simd_imm(x);
	if (x->mask)
		return false;
	if (x->f.p) { /* this shape is pshufd */
		a = b = simd_source(x, x->op[1]);
	} else if (!simd_operands(x, &dst, &a, &b)) {
		return false;
	}
	simd_emit(x, UOP_VSHUF, x->w, dst, a, b, 0, imm | x->keep);
	simd_retire(x, -1);
	return true;
}

bool simd_shufpd(struct simd *x)
{
	int64_t i = simd_imm(x);
	int dst, a, b;

	if (x->w != 1 || x->mask || !simd_operands(x, &dst, &a, &b))
		return false;
	simd_emit(x, UOP_VSHUF, x->w, dst, a, b, 0,
		  (i & 1 ? 0x0e : 0x04) | (i & 2 ? 0xe0 : 0x40) | x->keep);
	simd_retire(x, -1);
	return true;
}

/* Interleaves the elements of the low or high halves of 16 bytes; bit deposits do that to 4
 * bytes at a time. */
bool simd_interleave(struct simd *x)
{
	static const uint64_t evens[] = { 0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0xffffffff };
	int64_t even = (int64_t)evens[x->f.p], at = x->f.imm ? 8 : 0;
	int dst, a, b, from_a, from_b, t = lift_temp(x->l), r = lift_temp(x->l);

	if (x->w != 1 || x->mask || !simd_operands(x, &dst, &a, &b))
		return false;
	from_a = lift_temp(x->l);
	from_b = lift_temp(x->l);
	simd_emit(x, UOP_VGET, 3, from_a, a, 0, 0, at);
	simd_emit(x, UOP_VGET, 3, from_b, b, 0, 0, at);
	for (int64_t half = 0; half < 16; half += 8) {
		if (half) {
			lift_emit_imm(x->l, UOP_SHR, 3, from_a, from_a, 32, 0);
			lift_emit_imm(x->l, UOP_SHR, 3, from_b, from_b, 32, 0);
		}
		lift_emit_imm(x->l, UOP_PDEP, 3, r, from_a, even, 0);
		lift_emit_imm(x->l, UOP_PDEP, 3, t, from_b, ~even, 0);
		lift_emit(x->l, UOP_OR, 3, r, r, t, 0);
		simd_emit(x, UOP_VPUT, 3, dst, 0, r, 0, half ? half | UV_INSERT : x->keep);
	}
	simd_retire(x, -1);
	return true;
}

bool simd_shift_bytes(struct simd *x)
{
	int dst = simd_reg(x->op[0]), src = simd_reg(x->op[x->keep ? 0 : 1]), zero = x->temp++;
	int64_t n = simd_imm(x) > 16 ? 16 : simd_imm(x);

	if (dst < 0 || src < 0)
		return false;
	simd_emit(x, UOP_VLOGIC, x->w, zero, src, src, 0, 0);
	if (x->f.imm)
		simd_emit(x, UOP_VSHB, x->w, dst, src, zero, 0, n | x->keep);
	else
		simd_emit(x, UOP_VSHB, x->w, dst, zero, src, 0, (16 - n) | x->keep);
	simd_retire(x, -1);
	return true;
}

bool simd_align(struct simd *x)
{
	int64_t n = simd_imm(x);
	int dst, a, b;

	if (x->mask || n > 31 || !simd_operands(x, &dst, &a, &b))
		return false;
	simd_emit(x, UOP_VSHB, x->w, dst, b, a, 0, n | x->keep);
	simd_retire(x, -1);
	return true;
}

bool simd_ptest(struct simd *x)
{
	int a = simd_reg(x->op[0]), b;

	if (a < 0)
		return false;
	b = simd_source(x, x->op[1]);
	simd_emit(x, UOP_VTEST, x->w, 0, a, b, 0, 0);
	simd_retire(x, -1);
	return true;
}

bool simd_zero_upper(struct simd *x)
{
	simd_emit(x, UOP_VZ, 0, 0, 0, 0, 0, 0);
	simd_retire(x, -1);
	return true;
}

/* Lifts floating-point operations: the source is a register, or a number in memory. */
bool simd_float(struct simd *x)
{
	const ZydisDecodedOperand *from = x->op[x->nop - 1];
	int dst = simd_gpr(x->op[0]), a = simd_reg(x->op[0]), b, e = UC_ELEMENT(x->f.p);

	if (x->l->in->z.avx.has_sae || x->l->in->z.avx.rounding.mode)
		return false;
	if (x->f.kind == K_INTF) {
		int w = lift_width(from), reg = simd_gpr(from);
		struct ea ea;

		if (reg < 0) {
			ea = lift_ea(x->l, from);
			reg = x->loaded = lift_temp(x->l);
			lift_load(x->l, w, reg, ea);
			x->has_memory = true;
		}
		if (!x->keep)
			simd_copy(x, a, simd_reg(x->op[1]), 0);
		simd_emit(x, UOP_VINTF, w, a, 0, reg, e, UV_INSERT);
		simd_retire(x, -1);
		return true;
	}
	b = simd_source(x, from);
	if (x->f.kind == K_FCMP)
		simd_emit(x, UOP_VFCMP, 0, 0, a, b, e, 0);
	else
		simd_emit(x, UOP_VFINT, lift_width(x->op[0]), dst, b, 0, e, x->f.imm);
	simd_retire(x, x->f.kind == K_FINT ? dst : -1);
	return true;
}

bool simd_mask_op(struct simd *x)
{
	int k0 = simd_reg(x->op[0]), k1 = simd_reg(x->op[1]), w = x->f.p, table = x->f.imm;
	int k2 = x->nop > 2 ? simd_reg(x->op[2]) : -1;
	int64_t n;

	if (k0 < UV_K0 || k1 < UV_K0)
		return false;
	switch (x->f.kind) {
	case K_KTEST:
		simd_emit(x, UOP_KTEST, w, 0, k0, k1, 0, table);
		break;
	case K_KCAT:
		simd_emit(x, UOP_KCAT, w, k0, k1, k2, 0, 0);
		break;
	case K_KNOT:
		simd_emit(x, UOP_KOP, w, k0, k1, k1, 0, table);
		break;
	case K_KSHIFT:
		n = simd_imm(x);
		simd_emit(x, UOP_KSH, w, k0, k1, 0, 0, n >= 8 << w ? 64 : table * n);
		break;
	default:
		if (k1 == k2 && table == UV_XOR)
			table = 0;
		if (k1 == k2 && table == UV_XNOR)
			table = 15;
		simd_emit(x, UOP_KOP, w, k0, k1, k2, 0, table);
		break;
	}
	simd_retire(x, -1);
	return true;
}
