/* SPDX-License-Identifier: MIT */
/* Lifting of integer arithmetic, logic, moves and bit operations; and the table of functions by
 * mnemonic. */
#include <stddef.h>

#include "x86/lift_table.h"

#define FL_ALL FL_STATUS
#define FL_SHIFT FL_STATUS

/* What an operation records: what it loaded and its result. */
static uint16_t rec_result(int reg)
{
	return UREC_A(reg, UREC_RESULT);
}

static uint16_t rec_load_result(int loaded, int result)
{
	return (uint16_t)(UREC_A(loaded, UREC_LOAD) | UREC_B(result, UREC_RESULT) | UREC_EA);
}

static uint16_t rec_load(int loaded)
{
	return (uint16_t)(UREC_A(loaded, UREC_LOAD) | UREC_EA);
}

static uint16_t rec_store(int stored)
{
	return (uint16_t)(UREC_A(stored, UREC_STORE) | UREC_EA);
}

static uint16_t rec_rmw(int loaded, int stored)
{
	return (uint16_t)(UREC_A(loaded, UREC_LOAD) | UREC_B(stored, UREC_STORE) | UREC_EA);
}

/* Finishes an operation with these sources: its result is in a register, and it may have loaded. */
static void finish_reg(struct lift *l, const ZydisDecodedOperand *dst, int result, int loaded)
{
	lift_write(l, dst, result);
	lift_retire(l, loaded >= 0 ? rec_load_result(loaded, result) : rec_result(result));
}

static int op_code(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_ADD:
		return UOP_ADD;
	case ZYDIS_MNEMONIC_SUB:
		return UOP_SUB;
	case ZYDIS_MNEMONIC_CMP:
		return UOP_SUB;
	case ZYDIS_MNEMONIC_ADC:
		return UOP_ADC;
	case ZYDIS_MNEMONIC_SBB:
		return UOP_SBB;
	case ZYDIS_MNEMONIC_AND:
		return UOP_AND;
	case ZYDIS_MNEMONIC_TEST:
		return UOP_AND;
	case ZYDIS_MNEMONIC_OR:
		return UOP_OR;
	case ZYDIS_MNEMONIC_XOR:
		return UOP_XOR;
	case ZYDIS_MNEMONIC_SHL:
		return UOP_SHL;
	case ZYDIS_MNEMONIC_SHR:
		return UOP_SHR;
	case ZYDIS_MNEMONIC_SAR:
		return UOP_SAR;
	case ZYDIS_MNEMONIC_ROL:
		return UOP_ROL;
	case ZYDIS_MNEMONIC_ROR:
		return UOP_ROR;
	case ZYDIS_MNEMONIC_RCL:
		return UOP_RCL;
	case ZYDIS_MNEMONIC_RCR:
		return UOP_RCR;
	case ZYDIS_MNEMONIC_SHLD:
		return UOP_SHLD;
	case ZYDIS_MNEMONIC_SHRD:
		return UOP_SHRD;
	case ZYDIS_MNEMONIC_SHLX:
		return UOP_SHL;
	case ZYDIS_MNEMONIC_SHRX:
		return UOP_SHR;
	case ZYDIS_MNEMONIC_SARX:
		return UOP_SAR;
	case ZYDIS_MNEMONIC_RORX:
		return UOP_ROR;
	case ZYDIS_MNEMONIC_BT:
		return UOP_BT;
	case ZYDIS_MNEMONIC_BTS:
		return UOP_BTS;
	case ZYDIS_MNEMONIC_BTR:
		return UOP_BTR;
	case ZYDIS_MNEMONIC_BTC:
		return UOP_BTC;
	case ZYDIS_MNEMONIC_BSF:
		return UOP_BSF;
	case ZYDIS_MNEMONIC_BSR:
		return UOP_BSR;
	case ZYDIS_MNEMONIC_TZCNT:
		return UOP_TZCNT;
	case ZYDIS_MNEMONIC_LZCNT:
		return UOP_LZCNT;
	case ZYDIS_MNEMONIC_POPCNT:
		return UOP_POPCNT;
	case ZYDIS_MNEMONIC_BLSI:
		return UOP_BLSI;
	case ZYDIS_MNEMONIC_BLSMSK:
		return UOP_BLSMSK;
	case ZYDIS_MNEMONIC_BLSR:
		return UOP_BLSR;
	case ZYDIS_MNEMONIC_BEXTR:
		return UOP_BEXTR;
	case ZYDIS_MNEMONIC_BZHI:
		return UOP_BZHI;
	case ZYDIS_MNEMONIC_PDEP:
		return UOP_PDEP;
	case ZYDIS_MNEMONIC_PEXT:
		return UOP_PEXT;
	case ZYDIS_MNEMONIC_ANDN:
		return UOP_ANDN;
	case ZYDIS_MNEMONIC_ADCX:
		return UOP_ADCX;
	case ZYDIS_MNEMONIC_ADOX:
		return UOP_ADOX;
	default:
		return UOP_STOP;
	}
}

static bool same_reg(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	return op_is_reg(a) && op_is_reg(b) && a->reg.value == b->reg.value;
}

/* add sub adc sbb and or xor: op0 = op0 op op1. xor, sub and sbb of a register with itself do
 * not depend on its value. */
static void lift_alu(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), code = op_code(l->in->z.mnemonic), a, t, loaded = -1;
	struct src b;
	struct ea ea;

	if (op_is_mem(s)) {
		loaded = lift_operand(l, s, &ea);
		b = (struct src){ loaded, 0 };
	} else {
		b = lift_value(l, s);
	}
	a = lift_operand(l, d, &ea);
	if (same_reg(d, s) && (code == UOP_XOR || code == UOP_SUB || code == UOP_SBB)) {
		a = UR_ZERO;
		b = (struct src){ UR_ZERO, 0 };
	}
	t = lift_dst(l, d);
	lift_emit_src(l, code, w, t, a, b, 0)->flags |= lift_flags(l, FL_ALL);
	if (op_is_mem(d)) {
		lift_store(l, w, t, ea);
		lift_retire(l, rec_rmw(a, t));
		return;
	}
	finish_reg(l, d, t, loaded);
}

/* cmp test: only flags are written. */
static void lift_compare(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), code = op_code(l->in->z.mnemonic), a, loaded = -1;
	struct src b;
	struct ea ea;

	if (op_is_mem(s)) {
		loaded = lift_operand(l, s, &ea);
		b = (struct src){ loaded, 0 };
	} else {
		b = lift_value(l, s);
	}
	a = lift_operand(l, d, &ea);
	if (op_is_mem(d))
		loaded = a;
	if (same_reg(d, s) && code == UOP_SUB) {
		a = UR_ZERO;
		b = (struct src){ UR_ZERO, 0 };
	}
	if (lift_flags(l, FL_ALL))
		lift_emit_src(l, code, w, lift_temp(l), a, b, 0)->flags |= UF_FLAGS;
	lift_retire(l, loaded >= 0 ? rec_load(loaded) : 0);
}

/* inc dec neg not: op0 = op op0. */
static void lift_unary(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	ZydisMnemonic m = l->in->z.mnemonic;
	int w = lift_width(d), a, t;
	struct uop *u;
	struct ea ea;

	a = lift_operand(l, d, &ea);
	t = lift_dst(l, d);
	if (m == ZYDIS_MNEMONIC_NOT) {
		lift_emit_imm(l, UOP_XOR, w, t, a, -1, 0);
	} else if (m == ZYDIS_MNEMONIC_NEG) {
		lift_emit(l, UOP_SUB, w, t, UR_ZERO, a, 0)->flags |= lift_flags(l, FL_ALL);
	} else {
		u = lift_emit_imm(l, m == ZYDIS_MNEMONIC_INC ? UOP_ADD : UOP_SUB, w, t, a, 1, 0);
		u->flags |= lift_flags(l, FL_ALL & ~FL_CF);
		if (u->flags & UF_FLAGS)
			u->op = m == ZYDIS_MNEMONIC_INC ? UOP_ADDK : UOP_SUBK;
	}
	if (op_is_mem(d)) {
		lift_store(l, w, t, ea);
		lift_retire(l, rec_rmw(a, t));
		return;
	}
	finish_reg(l, d, t, -1);
}

/* Shifts and rotates by an immediate or cl; shld shrd fill from op1. */
static void lift_shift(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *n = &l->in->op[1];
	int w = lift_width(d), code = op_code(l->in->z.mnemonic), a, t, fill = UR_ZERO;
	bool rotate = code == UOP_ROL || code == UOP_ROR || code == UOP_RCL || code == UOP_RCR;
	struct src b;
	struct ea ea;

	a = lift_operand(l, d, &ea);
	if (code == UOP_SHLD || code == UOP_SHRD) {
		fill = lift_value(l, n).reg;
		n = &l->in->op[2];
	}
	b = lift_value(l, n);
	t = lift_dst(l, d);
	lift_emit_src(l, code, w, t, a, b, fill)->flags |=
		lift_flags(l, rotate ? FL_CF | FL_OF : FL_SHIFT);
	if (op_is_mem(d)) {
		lift_store(l, w, t, ea);
		lift_retire(l, rec_rmw(a, t));
		return;
	}
	finish_reg(l, d, t, -1);
}

/* op0 = op1 op op2, where op1 (shlx, bextr, bzhi and the like) or op2 (andn pdep pext) may be in
 * memory. */
static void lift_three(struct lift *l)
{
	const ZydisDecodedOperand *op = l->in->op;
	int w = lift_width(&op[0]), code = op_code(l->in->z.mnemonic), a, t, loaded = -1;
	bool flags = code == UOP_ANDN || code == UOP_BEXTR || code == UOP_BZHI;
	struct src b;
	struct ea ea;

	a = lift_operand(l, &op[1], &ea);
	if (op_is_mem(&op[1]))
		loaded = a;
	if (op_is_mem(&op[2])) {
		loaded = lift_operand(l, &op[2], &ea);
		b = (struct src){ loaded, 0 };
	} else {
		b = lift_value(l, &op[2]);
	}
	t = lift_dst(l, &op[0]);
	if (loaded == t)
		loaded = -1;
	lift_emit_src(l, code, w, t, a, b, 0)->flags |= flags ? lift_flags(l, FL_ALL) : 0;
	finish_reg(l, &op[0], t, loaded);
}

/* op0 = op op1: bit counts and scans. */
static void lift_count(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int code = op_code(l->in->z.mnemonic), b, t;
	struct ea ea;

	b = lift_operand(l, s, &ea);
	t = lift_dst(l, d);
	lift_emit(l, code, lift_width(d), t, UR_ZERO, b, 0)->flags |= lift_flags(l, FL_ALL);
	finish_reg(l, d, t, op_is_mem(s) ? b : -1);
}

static void lift_adx(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	struct reg_part p = reg_part(d->reg.value);
	struct ea ea;
	int b = lift_operand(l, s, &ea);

	lift_emit(l, op_code(l->in->z.mnemonic), lift_width(d), p.reg, p.reg, b, 0);
	finish_reg(l, d, p.reg, op_is_mem(s) ? b : -1);
}

/* bt bts btr btc. A register offset reaches beyond a memory operand. */
static void lift_bit_test(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	int w = lift_width(d), code = op_code(l->in->z.mnemonic), a, t, off, base;
	struct src b = lift_value(l, &l->in->op[1]);
	struct ea ea;

	if (op_is_mem(d)) {
		ea = lift_ea(l, d);
		if (b.reg >= 0) {
			if (l->in->z.address_width == 32) {
				lift_stop(l, RA_STOP_UNSUPPORTED);
				return;
			}
			off = lift_temp(l);
			base = lift_temp(l);
			lift_emit(l, UOP_SX, w, off, UR_ZERO, b.reg, 3);
			lift_emit_imm(l, UOP_SAR, 3, off, off, w + 3, 0);
			lift_emit(l, UOP_LEA, 3, base, ea.a, ea.b, ea.c)->imm = ea.imm;
			ea = (struct ea){ .a = (uint8_t)base, .b = (uint8_t)off, .c = (uint8_t)w };
		}
		a = lift_temp(l);
		lift_load(l, w, a, ea);
	} else {
		a = reg_part(d->reg.value).reg;
	}
	t = code == UOP_BT ? UR_ZERO : lift_dst(l, d);
	if (code != UOP_BT || lift_flags(l, FL_ALL & ~FL_ZF))
		lift_emit_src(l, code, w, t, a, b, 0)->flags |= lift_flags(l, FL_ALL & ~FL_ZF);
	if (code == UOP_BT) {
		lift_retire(l, op_is_mem(d) ? rec_load(a) : 0);
	} else if (op_is_mem(d)) {
		lift_store(l, w, t, ea);
		lift_retire(l, rec_rmw(a, t));
	} else {
		finish_reg(l, d, t, -1);
	}
}

static void lift_mov(struct lift *l)
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
	finish_reg(l, d, t, -1);
}

/* movzx movsx movsxd */
static void lift_extend(struct lift *l)
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
	finish_reg(l, d, t, op_is_mem(s) ? b : -1);
}

static void lift_movbe(struct lift *l)
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
	finish_reg(l, d, t, b);
}

static void lift_bswap(struct lift *l)
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

static void lift_lea(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	ZydisDecodedOperand m = l->in->op[1];
	struct ea ea;
	int t;

	m.mem.segment = ZYDIS_REGISTER_DS; /* the effective address excludes the segment's base */
	ea = lift_ea(l, &m);
	t = lift_dst(l, d);
	lift_emit(l, UOP_LEA, lift_width(d), t, ea.a, ea.b, ea.c)->imm = ea.imm;
	finish_reg(l, d, t, -1);
}

static void lift_xchg(struct lift *l)
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

static void lift_xadd(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), a, old, sum;
	struct src b = lift_value(l, s);
	struct ea ea;

	a = lift_operand(l, d, &ea);
	old = lift_temp(l);
	sum = lift_temp(l);
	lift_emit(l, UOP_MOV, w, old, UR_ZERO, a, 0);
	lift_emit(l, UOP_ADD, w, sum, a, b.reg, 0)->flags |= lift_flags(l, FL_ALL);
	if (op_is_mem(d)) {
		lift_store(l, w, sum, ea);
		lift_write(l, s, old);
		lift_retire(l, rec_rmw(old, sum));
		return;
	}
	lift_write(l, s, old);
	lift_write(l, d, sum);
	lift_retire(l, (uint16_t)(UREC_A(sum, UREC_RESULT) |
				  (same_reg(d, s) ? 0 : UREC_B(old, UREC_RESULT))));
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
static void lift_cmpxchg(struct lift *l)
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
static void lift_cmpxchg_wide(struct lift *l)
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

/* mul and imul with one operand, and mulx. */
static void lift_mul_wide(struct lift *l)
{
	const ZydisDecodedOperand *s = &l->in->op[0];
	bool sign = l->in->z.mnemonic == ZYDIS_MNEMONIC_IMUL;
	int w = lift_width(s), b, lo, hi, x, y;
	struct ea ea;
	uint16_t rec;

	b = lift_operand(l, s, &ea);
	lo = lift_temp(l);
	hi = lift_temp(l);
	if (w == 0) {
		x = lift_temp(l);
		y = lift_temp(l);
		lift_emit(l, sign ? UOP_SX : UOP_MOV, 0, x, UR_ZERO, UR_RAX, sign);
		lift_emit(l, sign ? UOP_SX : UOP_MOV, 0, y, UR_ZERO, b, sign);
		lift_emit(l, UOP_MUL, 1, lo, x, y, 0);
	} else {
		lift_emit(l, UOP_MUL, w, lo, UR_RAX, b, 0);
		lift_emit(l, sign ? UOP_MULHS : UOP_MULHU, w, hi, UR_RAX, b, 0);
	}
	if (l->live & FL_ALL)
		lift_emit(l, UOP_MULF, w, 0, UR_RAX, b, sign);
	lift_write_reg(l, UR_RAX, w ? w : 1, false, lo);
	if (w)
		lift_write_reg(l, UR_RDX, w, false, hi);
	rec = UREC_A(lo, UREC_RESULT) | (w ? UREC_B(hi, UREC_RESULT) : 0);
	lift_retire(l, op_is_mem(s) ? rec_load_result(b, lo) : rec);
}

static void lift_imul(struct lift *l)
{
	const ZydisDecodedOperand *op = l->in->op;
	bool three = l->in->z.operand_count_visible == 3;
	int w = lift_width(&op[0]), a, t, loaded = -1;
	const ZydisDecodedOperand *m = &op[1];
	struct src b;
	struct ea ea;

	if (l->in->z.operand_count_visible == 1) {
		lift_mul_wide(l);
		return;
	}
	a = lift_operand(l, m, &ea);
	if (op_is_mem(m))
		loaded = a;
	b = lift_value(l, three ? &op[2] : &op[0]);
	if (l->live & FL_ALL)
		lift_emit_src(l, UOP_MULF, w, 0, a, b, 1);
	t = lift_dst(l, &op[0]);
	lift_emit_src(l, UOP_MUL, w, t, a, b, 0);
	finish_reg(l, &op[0], t, loaded);
}

static void lift_mulx(struct lift *l)
{
	const ZydisDecodedOperand *op = l->in->op;
	int w = lift_width(&op[0]), b, lo, hi;
	struct ea ea;

	b = lift_operand(l, &op[2], &ea);
	lo = lift_temp(l);
	hi = lift_temp(l);
	lift_emit(l, UOP_MUL, w, lo, UR_RDX, b, 0);
	lift_emit(l, UOP_MULHU, w, hi, UR_RDX, b, 0);
	lift_write(l, &op[1], lo);
	lift_write(l, &op[0], hi);
	if (op_is_mem(&op[2]))
		lift_retire(l, rec_load_result(b, hi));
	else
		lift_retire(l,
			    (uint16_t)(UREC_A(hi, UREC_RESULT) |
				       (same_reg(&op[0], &op[1]) ? 0 : UREC_B(lo, UREC_RESULT))));
}

static void lift_div(struct lift *l)
{
	const ZydisDecodedOperand *s = &l->in->op[0];
	bool sign = l->in->z.mnemonic == ZYDIS_MNEMONIC_IDIV;
	int w = lift_width(s), d, quot, rem, lo = UR_RAX, hi = UR_RDX;
	struct ea ea;

	d = lift_operand(l, s, &ea);
	quot = lift_temp(l);
	rem = lift_temp(l);
	if (w == 0) {
		hi = lift_temp(l);
		lift_emit(l, UOP_EXT, 0, hi, UR_ZERO, UR_RAX, 8);
	}
	lift_emit(l, sign ? UOP_DIVS : UOP_DIVU, w, quot, lo, d, rem)->imm = hi;
	lift_write_reg(l, UR_RAX, w, false, quot);
	if (w == 0)
		lift_write_reg(l, UR_RAX, 0, true, rem);
	else
		lift_write_reg(l, UR_RDX, w, false, rem);
	if (op_is_mem(s))
		lift_retire(l, rec_load_result(d, quot));
	else
		lift_retire(l, (uint16_t)(UREC_A(quot, UREC_RESULT) | UREC_B(rem, UREC_RESULT)));
}

static void lift_crc32(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	struct reg_part p = reg_part(d->reg.value);
	struct ea ea;
	int b = lift_operand(l, s, &ea);

	lift_emit(l, UOP_CRC32, lift_width(s), p.reg, p.reg, b, 0);
	lift_retire(l, op_is_mem(s) ? rec_load_result(b, p.reg) : rec_result(p.reg));
}

/* cbw cwde cdqe: rax extended in place; cwd cdq cqo: its sign into rdx. */
static void lift_convert(struct lift *l)
{
	static const struct {
		ZydisMnemonic m;
		int from, to;
		bool high;
	} of[] = {
		{ ZYDIS_MNEMONIC_CBW, 0, 1, false },  { ZYDIS_MNEMONIC_CWDE, 1, 2, false },
		{ ZYDIS_MNEMONIC_CDQE, 2, 3, false }, { ZYDIS_MNEMONIC_CWD, 1, 1, true },
		{ ZYDIS_MNEMONIC_CDQ, 2, 2, true },   { ZYDIS_MNEMONIC_CQO, 3, 3, true },
	};
	int t = lift_temp(l), i = 0;

	while (of[i].m != l->in->z.mnemonic)
		i++;
	lift_emit(l, UOP_SX, of[i].from, t, UR_ZERO, UR_RAX, 3);
	if (of[i].high)
		lift_emit_imm(l, UOP_SAR, 3, t, t, 63, 0);
	lift_emit(l, UOP_MOV, of[i].to, t, UR_ZERO, t, 0);
	lift_write_reg(l, of[i].high ? UR_RDX : UR_RAX, of[i].to, false, t);
	lift_retire(l, rec_result(t));
}

static void lift_cmov(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), b, t, old = reg_part(d->reg.value).reg;
	struct ea ea;

	b = lift_operand(l, s, &ea);
	t = lift_dst(l, d);
	lift_emit(l, UOP_CMOV, w, t, old, b, lift_condition(l->in->z.mnemonic));
	finish_reg(l, d, t, op_is_mem(s) ? b : -1);
}

static void lift_setcc(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0];
	int t = lift_temp(l);

	lift_emit(l, UOP_SETCC, 0, t, 0, 0, lift_condition(l->in->z.mnemonic));
	if (op_is_mem(d)) {
		lift_store(l, 0, t, lift_ea(l, d));
		lift_retire(l, rec_store(t));
		return;
	}
	finish_reg(l, d, t, -1);
}

static void lift_lahf(struct lift *l)
{
	int t = lift_temp(l);

	lift_emit(l, UOP_GETFL, 3, t, 0, 0, 0)->imm = FL_STATUS & ~FL_OF;
	lift_emit_imm(l, UOP_OR, 0, t, t, 2, 0);
	lift_emit(l, UOP_INS, 0, UR_RAX, UR_ZERO, t, 8);
	lift_retire(l, rec_result(t));
}

static void lift_sahf(struct lift *l)
{
	int t = lift_temp(l);

	lift_emit(l, UOP_EXT, 0, t, UR_ZERO, UR_RAX, 8);
	lift_emit(l, UOP_SETFL, 0, 0, 0, t, 0)->imm = FL_STATUS & ~FL_OF;
	lift_retire(l, 0);
}

/* clc stc cmc */
static void lift_carry_flag(struct lift *l)
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

static void lift_nop(struct lift *l)
{
	lift_retire(l, 0);
}

static void lift_unsupported(struct lift *l)
{
	lift_stop(l, RA_STOP_UNSUPPORTED);
}

#define M(name, fn) [ZYDIS_MNEMONIC_##name] = fn
#define CC(prefix, fn) \
	M(prefix##O, fn), M(prefix##NO, fn), M(prefix##B, fn), M(prefix##NB, fn), \
		M(prefix##Z, fn), M(prefix##NZ, fn), M(prefix##BE, fn), M(prefix##NBE, fn), \
		M(prefix##S, fn), M(prefix##NS, fn), M(prefix##P, fn), M(prefix##NP, fn), \
		M(prefix##L, fn), M(prefix##NL, fn), M(prefix##LE, fn), M(prefix##NLE, fn)

static lift_fn *const table[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	M(MOV, lift_mov),
	M(MOVZX, lift_extend),
	M(MOVSX, lift_extend),
	M(MOVSXD, lift_extend),
	M(MOVBE, lift_movbe),
	M(BSWAP, lift_bswap),
	M(LEA, lift_lea),
	M(XCHG, lift_xchg),
	M(XADD, lift_xadd),
	M(CMPXCHG, lift_cmpxchg),
	M(CMPXCHG8B, lift_cmpxchg_wide),
	M(CMPXCHG16B, lift_cmpxchg_wide),
	M(ADD, lift_alu),
	M(SUB, lift_alu),
	M(ADC, lift_alu),
	M(SBB, lift_alu),
	M(AND, lift_alu),
	M(OR, lift_alu),
	M(XOR, lift_alu),
	M(CMP, lift_compare),
	M(TEST, lift_compare),
	M(INC, lift_unary),
	M(DEC, lift_unary),
	M(NEG, lift_unary),
	M(NOT, lift_unary),
	M(SHL, lift_shift),
	M(SHR, lift_shift),
	M(SAR, lift_shift),
	M(ROL, lift_shift),
	M(ROR, lift_shift),
	M(RCL, lift_shift),
	M(RCR, lift_shift),
	M(SHLD, lift_shift),
	M(SHRD, lift_shift),
	M(SHLX, lift_three),
	M(SHRX, lift_three),
	M(SARX, lift_three),
	M(RORX, lift_three),
	M(ANDN, lift_three),
	M(BEXTR, lift_three),
	M(BZHI, lift_three),
	M(PDEP, lift_three),
	M(PEXT, lift_three),
	M(BSF, lift_count),
	M(BSR, lift_count),
	M(TZCNT, lift_count),
	M(LZCNT, lift_count),
	M(POPCNT, lift_count),
	M(BLSI, lift_count),
	M(BLSMSK, lift_count),
	M(BLSR, lift_count),
	M(ADCX, lift_adx),
	M(ADOX, lift_adx),
	M(BT, lift_bit_test),
	M(BTS, lift_bit_test),
	M(BTR, lift_bit_test),
	M(BTC, lift_bit_test),
	M(MUL, lift_mul_wide),
	M(IMUL, lift_imul),
	M(MULX, lift_mulx),
	M(DIV, lift_div),
	M(IDIV, lift_div),
	M(CRC32, lift_crc32),
	M(CBW, lift_convert),
	M(CWDE, lift_convert),
	M(CDQE, lift_convert),
	M(CWD, lift_convert),
	M(CDQ, lift_convert),
	M(CQO, lift_convert),
	CC(CMOV, lift_cmov),
	CC(SET, lift_setcc),
	CC(J, lift_jcc),
	M(LAHF, lift_lahf),
	M(SAHF, lift_sahf),
	M(CLC, lift_carry_flag),
	M(STC, lift_carry_flag),
	M(CMC, lift_carry_flag),
	M(CLD, lift_nop),
	M(STD, lift_unsupported),
	M(PUSH, lift_push),
	M(POP, lift_pop),
	M(PUSHFQ, lift_pushf),
	M(POPFQ, lift_popf),
	M(LEAVE, lift_leave),
	M(ENTER, lift_enter),
	M(CALL, lift_call),
	M(RET, lift_ret),
	M(JMP, lift_jmp),
	M(LOOP, lift_loop),
	M(LOOPE, lift_loop),
	M(LOOPNE, lift_loop),
	M(JRCXZ, lift_jrcxz),
	M(JECXZ, lift_jrcxz),
	M(MOVSB, lift_string),
	M(MOVSW, lift_string),
	M(MOVSD, lift_string),
	M(MOVSQ, lift_string),
	M(STOSB, lift_string),
	M(STOSW, lift_string),
	M(STOSD, lift_string),
	M(STOSQ, lift_string),
	M(LODSB, lift_string),
	M(LODSW, lift_string),
	M(LODSD, lift_string),
	M(LODSQ, lift_string),
	M(SCASB, lift_string),
	M(SCASW, lift_string),
	M(SCASD, lift_string),
	M(SCASQ, lift_string),
	M(CMPSB, lift_string),
	M(CMPSW, lift_string),
	M(CMPSD, lift_string),
	M(CMPSQ, lift_string),
	M(XLAT, lift_xlat),
	M(NOP, lift_nop),
	M(ENDBR64, lift_nop),
	M(ENDBR32, lift_nop),
	M(PAUSE, lift_nop),
	M(LFENCE, lift_nop),
	M(SFENCE, lift_nop),
	M(MFENCE, lift_nop),
	M(VZEROUPPER, lift_nop),
	M(VZEROALL, lift_nop),
	M(EMMS, lift_nop),
	M(CLFLUSH, lift_nop),
	M(CLFLUSHOPT, lift_nop),
	M(CLWB, lift_nop),
	M(CLDEMOTE, lift_nop),
	M(FNOP, lift_nop),
	M(FWAIT, lift_nop),
	M(RDTSC, lift_unknown_registers),
	M(RDTSCP, lift_unknown_registers),
	M(RDPID, lift_unknown_registers),
	M(CPUID, lift_unknown_registers),
	M(XGETBV, lift_unknown_registers),
	M(RDRAND, lift_unknown_registers),
	M(RDSEED, lift_unknown_registers),
	M(RDFSBASE, lift_unknown_registers),
	M(RDGSBASE, lift_unknown_registers),
	M(RDSSPQ, lift_nop),
	M(RDSSPD, lift_nop),
};

lift_fn *lift_table_find(ZydisMnemonic m)
{
	lift_fn *fn = (unsigned)m <= ZYDIS_MNEMONIC_MAX_VALUE ? table[m] : NULL;

	return fn ? fn : lift_fallback;
}

int lift_condition(ZydisMnemonic m)
{
	switch (m) {
#define C(cc, n) \
	case ZYDIS_MNEMONIC_J##cc: \
	case ZYDIS_MNEMONIC_SET##cc: \
	case ZYDIS_MNEMONIC_CMOV##cc: \
		return n;
		C(O, 0)
		C(NO, 1)
		C(B, 2)
		C(NB, 3)
		C(Z, 4)
		C(NZ, 5)
		C(BE, 6)
		C(NBE, 7)
		C(S, 8)
		C(NS, 9)
		C(P, 10)
		C(NP, 11)
		C(L, 12)
		C(NL, 13)
		C(LE, 14)
		C(NLE, 15)
#undef C
	default:
		return -1;
	}
}
