/* SPDX-License-Identifier: MIT */
/* Lifting of moves and exchanges, and of instructions that read or write the flags as values. */
#include "x86/lift_int.h"

void lift_mov(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), t;
	struct src v;
	struct ea ea;

	if ((op_is_reg(d) && reg_part(d->reg.value).reg < 0) ||
	    (op_is_reg(s) && reg_part(s->reg.value).reg < 0)) {
		lift_fallback(l); /* segment, control and debug registers */
		return;
	}
	if (op_is_mem(d)) {
		ea = lift_ea(l, d);
		v = lift_value(l, s);
		t = v.reg;
		if (t < 0 || w < 3) {
			t = lift_temp(l);
			lift_emit_src(l, UOP_MOV, w, t, UR_ZERO, v, 0);
		}
		lift_store(l, w, t, ea);
		lift_retire(l, rec_store(t));
		return;
	}
	t = lift_dst(l, d);
	if (op_is_mem(s)) {
		lift_load(l, w, t, lift_ea(l, s));
		lift_write(l, d, t);
		lift_retire(l, rec_load(t));
		return;
	}
	lift_emit_src(l, UOP_MOV, w, t, UR_ZERO, lift_value(l, s), 0);
	lift_finish(l, d, t, -1);
}

/* movzx movsx movsxd */
void lift_extend(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	bool sign = l->in->z.mnemonic != ZYDIS_MNEMONIC_MOVZX;
	int w = lift_width(s), dw = lift_width(d), b, t;
	struct ea ea;

	if (op_is_mem(s) && !sign && dw >= 2) {
		t = lift_dst(l, d);
		lift_load(l, w, t, lift_ea(l, s));
		lift_retire(l, rec_load(t));
		return;
	}
	b = lift_operand(l, s, &ea);
	t = lift_dst(l, d);
	lift_emit(l, sign ? UOP_SX : UOP_MOV, w, t, UR_ZERO, b, sign ? dw : 0);
	if (op_is_mem(s) && !sign) {
		lift_write(l, d, t);
		lift_retire(l, rec_load(b));
		return;
	}
	lift_finish(l, d, t, op_is_mem(s) ? b : -1);
}

void lift_movbe(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), t, b;
	struct ea ea;

	if (op_is_mem(d)) {
		ea = lift_ea(l, d);
		t = lift_temp(l);
		lift_emit(l, UOP_BSWAP, w, t, UR_ZERO, reg_part(s->reg.value).reg, 0);
		lift_store(l, w, t, ea);
		lift_retire(l, rec_store(t));
		return;
	}
	b = lift_operand(l, s, &ea);
	t = lift_dst(l, d);
	lift_emit(l, UOP_BSWAP, w, t, UR_ZERO, b, 0);
	lift_finish(l, d, t, b);
}

void lift_bswap(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	struct reg_part p = reg_part(d->reg.value);

	if (p.width < 2) { /* the result is undefined */
		lift_unknown_registers(l);
		return;
	}
	lift_emit(l, UOP_BSWAP, p.width, p.reg, UR_ZERO, p.reg, 0);
	lift_retire(l, rec_result(p.reg));
}

void lift_lea(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	ZydisDecodedOperand m = l->in->op[1];
	struct ea ea;
	int t;

	m.mem.segment = ZYDIS_REGISTER_DS; /* the effective address excludes the segment's base */
	ea = lift_ea(l, &m);
	t = lift_dst(l, d);
	lift_emit(l, UOP_LEA, lift_width(d), t, ea.a, ea.b, ea.c)->imm = ea.imm;
	lift_finish(l, d, t, -1);
}

void lift_xchg(struct lift *l)
{
	const ZydisDecodedOperand *a = &l->in->op[0], *b = &l->in->op[1];
	int w = lift_width(a), va, vb, ta, tb;
	struct ea ea;

	if (op_is_mem(b)) {
		const ZydisDecodedOperand *t = a;

		a = b;
		b = t;
	}
	vb = lift_value(l, b).reg;
	tb = lift_temp(l);
	lift_emit(l, UOP_MOV, w, tb, UR_ZERO, vb, 0);
	if (op_is_mem(a)) {
		ta = lift_operand(l, a, &ea);
		lift_store(l, w, tb, ea);
		lift_write(l, b, ta);
		lift_retire(l, rec_rmw(ta, tb));
		return;
	}
	va = lift_value(l, a).reg;
	ta = lift_temp(l);
	lift_emit(l, UOP_MOV, w, ta, UR_ZERO, va, 0);
	lift_write(l, a, tb);
	lift_write(l, b, ta);
	lift_retire(l, (uint16_t)(UREC_A(tb, UREC_RESULT) | UREC_B(ta, UREC_RESULT)));
}

void lift_xadd(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), a, old, sum;
	struct src b = lift_value(l, s);
	struct ea ea;

	a = lift_operand(l, d, &ea);
	old = lift_temp(l);
	sum = lift_temp(l);
	lift_emit(l, UOP_MOV, w, old, UR_ZERO, a, 0);
	lift_emit(l, UOP_ADD, w, sum, a, b.reg, 0)->flags |= lift_flags(l, FL_STATUS);
	if (op_is_mem(d)) {
		lift_store(l, w, sum, ea);
		lift_write(l, s, old);
		lift_retire(l, rec_rmw(old, sum));
		return;
	}
	lift_write(l, s, old);
	lift_write(l, d, sum);
	lift_retire(l, (uint16_t)(UREC_A(sum, UREC_RESULT) |
				  (op_is_same(d, s) ? 0 : UREC_B(old, UREC_RESULT))));
}

/* cmpxchg of 32 bits: of rax and a destination register, only the one that gets a new value is
 * written and so zero-extended. */
static void cmpxchg_write_32(struct lift *l, const ZydisDecodedOperand *d, int cur, int src)
{
	int unequal = l->n, equal;

	lift_emit(l, UOP_BRCC, 0, 0, 0, 0, 5);
	if (op_is_reg(d))
		lift_emit(l, UOP_MOV, 2, reg_part(d->reg.value).reg, UR_ZERO, src, 0);
	equal = l->n;
	lift_emit(l, UOP_BR, 0, 0, 0, 0, 0);
	l->out[unequal].imm = l->n - unequal;
	lift_emit(l, UOP_MOV, 2, UR_RAX, UR_ZERO, cur, 0);
	l->out[equal].imm = l->n - equal;
	lift_emit(l, UOP_NOP, 0, 0, 0, 0, 0);
}

/* If rax = op0 then op0 = op1, else rax = op0. Memory is written either way. */
void lift_cmpxchg(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), cur, src, new, acc;
	struct ea ea = { 0 };

	src = lift_value(l, s).reg;
	cur = lift_temp(l);
	lift_emit(l, UOP_MOV, w, cur, UR_ZERO, lift_operand(l, d, &ea), 0);
	lift_emit(l, UOP_SUB, w, lift_temp(l), UR_RAX, cur, 0)->flags |= UF_FLAGS;
	new = lift_temp(l);
	lift_emit(l, UOP_CMOV, w, new, cur, src, 4);
	if (op_is_mem(d))
		lift_store(l, w, new, ea);
	if (w == 2) {
		cmpxchg_write_32(l, d, cur, src);
	} else {
		acc = lift_temp(l);
		lift_emit(l, UOP_CMOV, w, acc, cur, UR_RAX, 4);
		/* the accumulator is written first, because as the destination it is overwritten */
		lift_write_reg(l, UR_RAX, w, false, acc);
		if (op_is_reg(d))
			lift_write(l, d, new);
	}
	lift_retire(l, op_is_mem(d) ? rec_rmw(cur, new) : rec_result(new));
}

/* cmpxchg8b cmpxchg16b */
void lift_cmpxchg_wide(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	int w = l->in->z.mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B ? 3 : 2, lo, hi, x, y, at, br, end;
	struct ea ea = lift_ea(l, d), up = ea;

	up.imm += 1 << w;
	lo = lift_temp(l);
	hi = lift_temp(l);
	x = lift_temp(l);
	y = lift_temp(l);
	at = lift_temp(l);
	lift_load(l, w, lo, ea);
	lift_move(l, at, UR_EA);
	lift_load(l, w, hi, up);
	lift_emit(l, UOP_XOR, w, x, lo, UR_RAX, 0);
	lift_emit(l, UOP_XOR, w, y, hi, UR_RDX, 0);
	lift_emit(l, UOP_OR, w, x, x, y, 0);
	br = l->n;
	lift_emit(l, UOP_BRNZ, w, 0, 0, x, 0);
	lift_store(l, w, UR_RBX, ea);
	lift_store(l, w, UR_RCX, up);
	lift_emit_imm(l, UOP_MOV, 3, y, UR_ZERO, FL_ZF, 0);
	end = l->n;
	lift_emit(l, UOP_BR, 0, 0, 0, 0, 0);
	l->out[br].imm = l->n - br;
	lift_emit(l, UOP_MOV, w, UR_RAX, UR_ZERO, lo, 0);
	lift_emit(l, UOP_MOV, w, UR_RDX, UR_ZERO, hi, 0);
	lift_emit_imm(l, UOP_MOV, 3, y, UR_ZERO, 0, 0);
	l->out[end].imm = l->n - end;
	lift_emit(l, UOP_SETFL, 0, 0, 0, y, 0)->imm = FL_ZF;
	lift_move(l, UR_EA, at);
	lift_retire(l, rec_load(lo));
}

void lift_cmov(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), b, t, old = reg_part(d->reg.value).reg;
	struct ea ea;

	b = lift_operand(l, s, &ea);
	t = lift_dst(l, d);
	lift_emit(l, UOP_CMOV, w, t, old, b, lift_condition(l->in->z.mnemonic));
	lift_finish(l, d, t, op_is_mem(s) ? b : -1);
}

void lift_setcc(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	int t = lift_temp(l);

	lift_emit(l, UOP_SETCC, 0, t, 0, 0, lift_condition(l->in->z.mnemonic));
	if (op_is_mem(d)) {
		lift_store(l, 0, t, lift_ea(l, d));
		lift_retire(l, rec_store(t));
		return;
	}
	lift_finish(l, d, t, -1);
}

void lift_lahf(struct lift *l)
{
	int t = lift_temp(l);

	lift_emit(l, UOP_GETFL, 3, t, 0, 0, 0)->imm = FL_STATUS & ~FL_OF;
	lift_emit_imm(l, UOP_OR, 0, t, t, 2, 0);
	lift_emit(l, UOP_INS, 0, UR_RAX, UR_ZERO, t, 8);
	lift_retire(l, rec_result(t));
}

void lift_sahf(struct lift *l)
{
	int t = lift_temp(l);

	lift_emit(l, UOP_EXT, 0, t, UR_ZERO, UR_RAX, 8);
	lift_emit(l, UOP_SETFL, 0, 0, 0, t, 0)->imm = FL_STATUS & ~FL_OF;
	lift_retire(l, 0);
}

/* clc stc cmc */
void lift_carry_flag(struct lift *l)
{
	int t = lift_temp(l);

	if (l->in->z.mnemonic == ZYDIS_MNEMONIC_CMC) {
		lift_emit(l, UOP_GETFL, 3, t, 0, 0, 0)->imm = FL_CF;
		lift_emit_imm(l, UOP_XOR, 3, t, t, FL_CF, 0);
	} else {
		lift_emit_imm(l, UOP_MOV, 3, t, UR_ZERO,
			      l->in->z.mnemonic == ZYDIS_MNEMONIC_STC ? FL_CF : 0, 0);
	}
	lift_emit(l, UOP_SETFL, 0, 0, 0, t, 0)->imm = FL_CF;
	lift_retire(l, 0);
}
