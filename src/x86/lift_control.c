/* SPDX-License-Identifier: MIT */
/* Lifting of stack operations and control flow. */
#include "x86/lift_priv.h"

static void move_rsp(struct lift *l, int64_t by)
{
	lift_emit(l, UOP_LEA, 3, UR_RSP, UR_RSP, UR_ZERO, 0)->imm = by;
}

static void push(struct lift *l, int data)
{
	lift_emit(l, UOP_ST, 3, data, UR_RSP, UR_ZERO, UC_PUSH)->imm = -8;
}

static void pop(struct lift *l, int dst)
{
	lift_emit(l, UOP_LD, 3, dst, UR_RSP, UR_ZERO, UC_POP);
}

void lift_push(struct lift *l)
{
	const ZydisDecodedOperand *s = &l->in->op[0];
	int w = l->in->z.operand_width == 16 ? 1 : 3, bytes = 1 << w, t = lift_temp(l);

	if (op_is_reg(s) && reg_part(s->reg.value).reg < 0) { /* a segment register: fs or gs */
		lift_emit(l, UOP_LEA, 3, UR_EA, UR_RSP, UR_ZERO, 0)->imm = -bytes;
		lift_emit(l, UOP_STU, w, 0, UR_EA, UR_ZERO, 0);
		move_rsp(l, -bytes);
		lift_retire(l, UREC_EA);
		return;
	}
	if (op_is_mem(s))
		lift_load(l, w, t, lift_ea(l, s));
	else if (op_is_reg(s) && w == 3 && reg_part(s->reg.value).reg != UR_RSP)
		t = reg_part(s->reg.value).reg;
	else
		lift_emit_src(l, UOP_MOV, w, t, UR_ZERO, lift_value(l, s), 0);
	if (w == 3) {
		push(l, t);
	} else {
		lift_store(l, w, t, lift_at(UR_RSP, -bytes));
		move_rsp(l, -bytes);
	}
	lift_retire(l, UREC_A(t, UREC_STORE) | UREC_EA);
}

void lift_pop(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	int w = l->in->z.operand_width == 16 ? 1 : 3, bytes = 1 << w, t = lift_temp(l);

	/* a pop into fs or gs changes its base */
	if (op_is_reg(d) && reg_part(d->reg.value).reg < 0) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return;
	}
	if (op_is_reg(d) && w == 3) {
		t = reg_part(d->reg.value).reg;
		pop(l, t);
		lift_retire(l, UREC_A(t, UREC_LOAD) | UREC_EA);
		return;
	}
	lift_load(l, w, t, lift_at(UR_RSP, 0));
	move_rsp(l, bytes);
	if (op_is_mem(d)) {
		/* the operand's address is computed with the new rsp */
		lift_store(l, w, t, lift_ea(l, d));
		lift_retire(l, UREC_A(t, UREC_STORE) | UREC_EA);
		return;
	}
	lift_write(l, d, t);
	lift_retire(l, UREC_A(t, UREC_LOAD) | UREC_EA);
}

/* Only the status flags of the pushed value are known, so it is not recorded. */
void lift_pushf(struct lift *l)
{
	lift_emit(l, UOP_LEA, 3, UR_EA, UR_RSP, UR_ZERO, 0)->imm = -8;
	lift_emit(l, UOP_STU, 3, 0, UR_EA, UR_ZERO, 0);
	move_rsp(l, -8);
	lift_retire(l, UREC_EA);
}

/* The window ends if the direction flag would be set, or may be. */
void lift_popf(struct lift *l)
{
	int t = lift_temp(l), df = lift_temp(l);

	lift_load(l, 3, t, lift_at(UR_RSP, 0));
	lift_emit_imm(l, UOP_AND, 3, df, t, FL_DF, 0);
	lift_emit(l, UOP_BRZ, 3, 0, 0, df, 0)->imm = 2;
	lift_emit_imm(l, UOP_STOP, 0, 0, UR_ZERO, RA_STOP_UNSUPPORTED, 0);
	lift_emit(l, UOP_SETFL, 0, 0, 0, t, 0)->imm = FL_STATUS;
	move_rsp(l, 8);
	lift_retire(l, UREC_A(t, UREC_LOAD) | UREC_EA);
}

void lift_leave(struct lift *l)
{
	int t = lift_temp(l);

	if (l->in->z.operand_width == 16) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return;
	}
	lift_load(l, 3, t, lift_at(UR_RBP, 0));
	lift_emit(l, UOP_LEA, 3, UR_RSP, UR_RBP, UR_ZERO, 0)->imm = 8;
	lift_move(l, UR_RBP, t);
	lift_retire(l, UREC_A(t, UREC_LOAD) | UREC_EA);
}

void lift_enter(struct lift *l)
{
	int64_t size = (int64_t)(l->in->op[0].imm.value.u & 0xffff);
	int t = lift_temp(l);

	if (l->in->op[1].imm.value.u & 31 || l->in->z.operand_width == 16) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return;
	}
	lift_move(l, t, UR_RBP);
	lift_store(l, 3, t, lift_at(UR_RSP, -8));
	move_rsp(l, -8);
	lift_move(l, UR_RBP, UR_RSP);
	move_rsp(l, -size);
	lift_retire(l, UREC_A(t, UREC_STORE) | UREC_EA);
}

/* Reads the target of an indirect call or jump into a temporary; *at: a temporary with the
 * address it was loaded from, or -1. */
static int indirect_target(struct lift *l, int *at)
{
	const ZydisDecodedOperand *s = &l->in->op[0];
	struct ea ea;
	int t = lift_temp(l);

	*at = -1;
	lift_move(l, t, lift_operand(l, s, &ea));
	if (op_is_mem(s)) {
		*at = lift_temp(l);
		lift_move(l, *at, UR_EA);
	}
	return t;
}

static void go_indirect(struct lift *l, int target, int at)
{
	lift_emit(l, UOP_JIND, 3, 0, 0, target, 0);
	lift_retire(l, (uint16_t)(UREC_A(target, UREC_RESULT) | (at >= 0 ? UREC_EA : 0)));
}

/* Whether the transfer has an operand size other than 64 bits, or is far. */
static bool odd_transfer(struct lift *l)
{
	if (l->in->z.operand_width != 64 || l->in->z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
		lift_stop(l, RA_STOP_UNSUPPORTED);
		return true;
	}
	return false;
}

void lift_call(struct lift *l)
{
	int target = -1, at = -1, t;

	if (odd_transfer(l))
		return;
	if (l->in->cls == INSN_ICALL)
		target = indirect_target(l, &at);
	t = lift_temp(l);
	lift_emit(l, UOP_LEA, 3, t, UR_BIAS, UR_ZERO, 0)->imm = (int64_t)(l->in->addr + l->in->len);
	push(l, t);
	if (target >= 0) {
		if (at >= 0)
			lift_move(l, UR_EA, at);
		go_indirect(l, target, at);
		l->out[l->n - 1].a = (uint8_t)t;
		l->out[l->n - 1].c = UC_CALL;
		return;
	}
	lift_emit(l, UOP_JMP, 0, 0, t, UR_ZERO, UC_CALL);
	lift_retire(l, UREC_A(t, UREC_STORE) | UREC_EA);
}

void lift_ret(struct lift *l)
{
	const ZydisDecodedOperand *n = &l->in->op[0];
	int64_t extra =
		n->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? (int64_t)(n->imm.value.u & 0xffff) : 0;
	int t = lift_temp(l);

	if (odd_transfer(l))
		return;
	pop(l, t);
	if (extra)
		move_rsp(l, extra);
	lift_emit(l, UOP_JIND, 3, 0, 0, t, UC_RETURN);
	lift_retire(l, UREC_A(UR_RAX, UREC_RESULT));
}

void lift_jmp(struct lift *l)
{
	int target, at;

	if (l->in->cls == INSN_JUMP) {
		lift_emit(l, UOP_JMP, 0, 0, 0, UR_ZERO, 0);
		lift_retire(l, 0);
		return;
	}
	if (odd_transfer(l))
		return;
	target = indirect_target(l, &at);
	go_indirect(l, target, at);
}

void lift_jcc(struct lift *l)
{
	lift_emit(l, UOP_JCC, 0, 0, 0, 0, lift_condition(l->in->z.mnemonic));
	lift_retire(l, 0);
}

/* Emits the taken way, followed by the fall-through. */
static void both_ways(struct lift *l)
{
	lift_emit(l, UOP_JMP, 0, 0, 0, UR_ZERO, 0);
	lift_retire(l, 0);
	lift_emit(l, UOP_NOP, 0, 0, 0, 0, 0);
	lift_retire(l, 0);
}

void lift_loop(struct lift *l)
{
	int w = l->in->z.address_width == 32 ? 2 : 3;
	bool cond = l->in->z.mnemonic != ZYDIS_MNEMONIC_LOOP;

	lift_emit_imm(l, UOP_SUB, w, UR_RCX, UR_RCX, 1, 0);
	lift_emit(l, UOP_BRZ, w, 0, 0, UR_RCX, 0)->imm = cond ? 3 : 2;
	if (cond) /* loope continues while equal: leave the loop if not equal */
		lift_emit(l, UOP_BRCC, 0, 0, 0, 0,
			  l->in->z.mnemonic == ZYDIS_MNEMONIC_LOOPE ? 5 : 4)
			->imm = 2;
	both_ways(l);
}

void lift_jrcxz(struct lift *l)
{
	lift_emit(l, UOP_BRNZ, l->in->z.address_width == 32 ? 2 : 3, 0, 0, UR_RCX, 0)->imm = 2;
	both_ways(l);
}
