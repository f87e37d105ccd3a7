/* SPDX-License-Identifier: MIT */
/* The common parts of the lifter, and its entry point. */
#include "x86/lift.h"

#include <assert.h>
#include <string.h>

#include "base/invariant.h"
#include "x86/lift_priv.h"
#include "x86/lift_table.h"

int lift_temp(struct lift *l)
{
	assert(l->temp < UR_N);
	return l->temp++;
}

struct uop *lift_emit(struct lift *l, int op, int w, int dst, int a, int b, int c)
{
	struct uop *u = &l->out[l->n++];

	assert(l->n <= LIFT_MAX);
	*u = (struct uop){ .op = (uint8_t)op,
			   .flags = (uint8_t)w,
			   .dst = (uint8_t)dst,
			   .a = (uint8_t)a,
			   .b = (uint8_t)b,
			   .c = (uint8_t)c };
	return u;
}

struct uop *lift_emit_imm(struct lift *l, int op, int w, int dst, int a, int64_t imm, int c)
{
	struct uop *u = lift_emit(l, op, w, dst, a, UR_ZERO, c);

	u->flags |= UF_IMM;
	u->imm = imm;
	return u;
}

struct uop *lift_emit_src(struct lift *l, int op, int w, int dst, int a, struct src s, int c)
{
	if (s.reg < 0)
		return lift_emit_imm(l, op, w, dst, a, s.imm, c);
	return lift_emit(l, op, w, dst, a, s.reg, c);
}

void lift_load(struct lift *l, int w, int dst, struct ea ea)
{
	lift_emit(l, UOP_LD, w, dst, ea.a, ea.b, ea.c)->imm = ea.imm;
}

void lift_store(struct lift *l, int w, int data, struct ea ea)
{
	lift_emit(l, UOP_ST, w, data, ea.a, ea.b, ea.c)->imm = ea.imm;
}

void lift_move(struct lift *l, int dst, int src)
{
	lift_emit(l, UOP_MOV, 3, dst, UR_ZERO, src, 0);
}

struct ea lift_at(int reg, int64_t disp)
{
	return (struct ea){ .a = (uint8_t)reg, .b = UR_ZERO, .imm = disp };
}

static int scale_log2(int scale)
{
	return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
}

struct ea lift_ea(struct lift *l, const ZydisDecodedOperand *op)
{
	struct ea ea = { .a = UR_ZERO, .b = UR_ZERO, .imm = op->mem.disp.value };
	int base = reg_part(op->mem.base).reg, index = reg_part(op->mem.index).reg, t;
	int seg = op->mem.segment == ZYDIS_REGISTER_FS	 ? UR_FS
		  : op->mem.segment == ZYDIS_REGISTER_GS ? UR_GS
							 : UR_ZERO;

	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP) {
		ea.a = UR_BIAS;
		ea.imm += (int64_t)(l->in->addr + l->in->len);
	} else if (base >= 0) {
		ea.a = (uint8_t)base;
	}
	if (index >= 0) {
		ea.b = (uint8_t)index;
		ea.c = (uint8_t)scale_log2(op->mem.scale);
	}
	if (l->in->z.address_width == 32) {
		t = lift_temp(l);
		lift_emit(l, UOP_LEA, 2, t, ea.a, ea.b, ea.c)->imm = ea.imm;
		ea = lift_at(t, 0);
	}
	if (seg == UR_ZERO)
		return ea;
	if (ea.a == UR_ZERO) {
		ea.a = (uint8_t)seg;
		return ea;
	}
	t = lift_temp(l);
	lift_emit(l, UOP_ADD, 3, t, seg, ea.a, 0);
	ea.a = (uint8_t)t;
	return ea;
}

struct src lift_value(struct lift *l, const ZydisDecodedOperand *op)
{
	struct reg_part p;
	int t;

	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return (struct src){ -1, op->imm.value.s };
	p = reg_part(op->reg.value);
	assert(p.reg >= 0);
	if (!p.high)
		return (struct src){ p.reg, 0 };
	t = lift_temp(l);
	lift_emit(l, UOP_EXT, 0, t, UR_ZERO, p.reg, 8);
	return (struct src){ t, 0 };
}

int lift_operand(struct lift *l, const ZydisDecodedOperand *op, struct ea *ea)
{
	struct src s;
	int t;

	if (op_is_mem(op)) {
		*ea = lift_ea(l, op);
		t = lift_temp(l);
		lift_load(l, lift_width(op), t, *ea);
		return t;
	}
	s = lift_value(l, op);
	if (s.reg >= 0)
		return s.reg;
	t = lift_temp(l);
	lift_emit_imm(l, UOP_MOV, 3, t, UR_ZERO, s.imm, 0);
	return t;
}

int lift_dst(struct lift *l, const ZydisDecodedOperand *op)
{
	struct reg_part p;

	if (!op_is_reg(op))
		return lift_temp(l);
	p = reg_part(op->reg.value);
	return p.width >= 2 ? p.reg : lift_temp(l);
}

void lift_write_reg(struct lift *l, int reg, int w, bool high, int from)
{
	if (w < 2)
		lift_emit(l, UOP_INS, w, reg, UR_ZERO, from, high ? 8 : 0);
	else if (reg != from)
		lift_emit(l, UOP_MOV, w, reg, UR_ZERO, from, 0);
}

void lift_write(struct lift *l, const ZydisDecodedOperand *op, int from)
{
	struct reg_part p = reg_part(op->reg.value);

	lift_write_reg(l, p.reg, p.width, p.high, from);
}

void lift_retire(struct lift *l, uint16_t rec)
{
	if (!l->n)
		lift_emit(l, UOP_NOP, 0, 0, 0, 0, 0);
	l->out[l->n - 1].flags |= UF_RETIRE;
	l->out[l->n - 1].rec = rec;
}

void lift_stop(struct lift *l, int why)
{
	l->n = 0;
	lift_emit_imm(l, UOP_STOP, 0, 0, UR_ZERO, why, 0);
}

/* Checks that the micro-ops use registers that exist, and that loops and branches stay within the instruction. */
static void check(const struct uop *out, int n)
{
	for (int i = 0; i < n; i++) {
		const struct uop *u = &out[i];
		bool local = u->op == UOP_BRCC || u->op == UOP_BRZ || u->op == UOP_BRNZ ||
			     u->op == UOP_BR;

		invariant(u->op < UOP_N || u->op & UOP_HOT);
		invariant(u->op >= UOP_VLD && u->op < UOP_N
				  ? u->dst < UV_N
				  : u->dst < UR_N && u->a < UR_N && u->b < UR_N);
		invariant(!local || (i + u->imm >= 0 && i + u->imm < n && u->imm));
		invariant(u->flags & UF_RETIRE || !u->rec);
	}
}

int lift_insn(const struct insn *in, uint16_t fl_live, struct uop *out)
{
	struct lift l = { .in = in, .out = out, .temp = UR_T0, .live = fl_live };
	lift_fn *fn = lift_table_find(in->z.mnemonic);

	if (in->cls == INSN_SYSCALL)
		lift_stop(&l, RA_STOP_SYSCALL);
	else if (in->cls == INSN_TRAP)
		lift_stop(&l, RA_STOP_UNSUPPORTED);
	else
		fn(&l);
	assert(l.n > 0 && l.n <= LIFT_MAX);
	check(out, l.n);
	return l.n;
}
