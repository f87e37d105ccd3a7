/* SPDX-License-Identifier: MIT */
/* Lifting of integer arithmetic, logic and bit operations. */
#include "x86/lift_int.h"

static int op_code(ZydisMnemonic m)
{
	switch (m) {
#define OP(name, uop) \
	case ZYDIS_MNEMONIC_##name: \
		return UOP_##uop;
		OP(ADD, ADD)
		OP(SUB, SUB)
		OP(CMP, SUB)
		OP(ADC, ADC)
		OP(SBB, SBB)
		OP(AND, AND)
		OP(TEST, AND)
		OP(OR, OR)
		OP(XOR, XOR)
		OP(SHL, SHL)
		OP(SHR, SHR)
		OP(SAR, SAR)
		OP(ROL, ROL)
		OP(ROR, ROR)
		OP(RCL, RCL)
		OP(RCR, RCR)
		OP(SHLD, SHLD)
		OP(SHRD, SHRD)
		OP(SHLX, SHL)
		OP(SHRX, SHR)
		OP(SARX, SAR)
		OP(RORX, ROR)
		OP(BT, BT)
		OP(BTS, BTS)
		OP(BTR, BTR)
		OP(BTC, BTC)
		OP(BSF, BSF)
		OP(BSR, BSR)
		OP(TZCNT, TZCNT)
		OP(LZCNT, LZCNT)
		OP(POPCNT, POPCNT)
		OP(BLSI, BLSI)
		OP(BLSMSK, BLSMSK)
		OP(BLSR, BLSR)
		OP(BEXTR, BEXTR)
		OP(BZHI, BZHI)
		OP(PDEP, PDEP)
		OP(PEXT, PEXT)
		OP(ANDN, ANDN)
		OP(ADCX, ADCX)
		OP(ADOX, ADOX)
#undef OP
	default:
		return UOP_STOP;
	}
}

/* An operand that is read: a register or an immediate. One in memory is loaded: *loaded is the register then. */
static struct src source(struct lift *l, const ZydisDecodedOperand *s, int *loaded)
{
	struct ea ea;

	if (!op_is_mem(s))
		return lift_value(l, s);
	*loaded = lift_operand(l, s, &ea);
	return (struct src){ *loaded, 0 };
}

/* Writes the result of an operation to its destination: memory at ea, which held `old`, or a register. */
static void finish(struct lift *l, const ZydisDecodedOperand *d, int result, int old, struct ea ea,
		   int loaded)
{
	if (!op_is_mem(d)) {
		lift_finish(l, d, result, loaded);
		return;
	}
	lift_store(l, lift_width(d), result, ea);
	lift_retire(l, rec_rmw(old, result));
}

/* add sub adc sbb and or xor: op0 = op0 op op1. xor, sub and sbb of a register with itself do
 * not depend on its value. */
void lift_alu(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), code = op_code(l->in->z.mnemonic), a, t, loaded = -1;
	struct src b;
	struct ea ea;

	b = source(l, s, &loaded);
	a = lift_operand(l, d, &ea);
	if (op_is_same(d, s) && (code == UOP_XOR || code == UOP_SUB || code == UOP_SBB)) {
		a = UR_ZERO;
		b = (struct src){ UR_ZERO, 0 };
	}
	t = lift_dst(l, d);
	lift_emit_src(l, code, w, t, a, b, 0)->flags |= lift_flags(l, FL_STATUS);
	finish(l, d, t, a, ea, loaded);
}

/* cmp test: only flags are written. */
void lift_compare(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int w = lift_width(d), code = op_code(l->in->z.mnemonic), a, loaded = -1;
	struct src b;
	struct ea ea;

	b = source(l, s, &loaded);
	a = lift_operand(l, d, &ea);
	if (op_is_mem(d))
		loaded = a;
	if (op_is_same(d, s) && code == UOP_SUB) {
		a = UR_ZERO;
		b = (struct src){ UR_ZERO, 0 };
	}
	if (lift_flags(l, FL_STATUS))
		lift_emit_src(l, code, w, lift_temp(l), a, b, 0)->flags |= UF_FLAGS;
	lift_retire(l, loaded >= 0 ? rec_load(loaded) : 0);
}

/* inc dec neg not: op0 = op op0. */
void lift_unary(struct lift *l)
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
		lift_emit(l, UOP_SUB, w, t, UR_ZERO, a, 0)->flags |= lift_flags(l, FL_STATUS);
	} else {
		u = lift_emit_imm(l, m == ZYDIS_MNEMONIC_INC ? UOP_ADD : UOP_SUB, w, t, a, 1, 0);
		u->flags |= lift_flags(l, FL_STATUS & ~FL_CF);
		if (u->flags & UF_FLAGS)
			u->op = m == ZYDIS_MNEMONIC_INC ? UOP_ADDK : UOP_SUBK;
	}
	finish(l, d, t, a, ea, -1);
}

/* Shifts and rotates by an immediate or cl; shld shrd fill from op1. */
void lift_shift(struct lift *l)
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
		lift_flags(l, rotate ? FL_CF | FL_OF : FL_STATUS);
	finish(l, d, t, a, ea, -1);
}

/* op0 = op1 op op2, where op1 (shlx, bextr, bzhi and the like) or op2 (andn pdep pext) may be in
 * memory. */
void lift_three(struct lift *l)
{
	const ZydisDecodedOperand *op = l->in->op;
	int w = lift_width(&op[0]), code = op_code(l->in->z.mnemonic), a, t, loaded = -1;
	bool flags = code == UOP_ANDN || code == UOP_BEXTR || code == UOP_BZHI;
	struct src b;
	struct ea ea;

	a = lift_operand(l, &op[1], &ea);
	if (op_is_mem(&op[1]))
		loaded = a;
	b = source(l, &op[2], &loaded);
	t = lift_dst(l, &op[0]);
	if (loaded == t)
		loaded = -1;
	lift_emit_src(l, code, w, t, a, b, 0)->flags |= flags ? lift_flags(l, FL_STATUS) : 0;
	lift_finish(l, &op[0], t, loaded);
}

/* op0 = op op1: bit counts and scans. */
void lift_count(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	int code = op_code(l->in->z.mnemonic), b, t;
	struct ea ea;

	b = lift_operand(l, s, &ea);
	t = lift_dst(l, d);
	lift_emit(l, code, lift_width(d), t, UR_ZERO, b, 0)->flags |= lift_flags(l, FL_STATUS);
	lift_finish(l, d, t, op_is_mem(s) ? b : -1);
}

void lift_adx(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	struct reg_part p = reg_part(d->reg.value);
	struct ea ea;
	int b = lift_operand(l, s, &ea);

	lift_emit(l, op_code(l->in->z.mnemonic), lift_width(d), p.reg, p.reg, b, 0);
	lift_finish(l, d, p.reg, op_is_mem(s) ? b : -1);
}

/* bt bts btr btc. A register offset reaches beyond a memory operand. */
void lift_bit_test(struct lift *l)
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
	if (code != UOP_BT || lift_flags(l, FL_STATUS & ~FL_ZF))
		lift_emit_src(l, code, w, t, a, b, 0)->flags |= lift_flags(l, FL_STATUS & ~FL_ZF);
	if (code == UOP_BT)
		lift_retire(l, op_is_mem(d) ? rec_load(a) : 0);
	else
		finish(l, d, t, a, ea, -1);
}

/* mul and imul with one operand, and mulx. */
void lift_mul_wide(struct lift *l)
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
	if (l->live & FL_STATUS)
		lift_emit(l, UOP_MULF, w, 0, UR_RAX, b, sign);
	lift_write_reg(l, UR_RAX, w ? w : 1, false, lo);
	if (w)
		lift_write_reg(l, UR_RDX, w, false, hi);
	rec = UREC_A(lo, UREC_RESULT) | (w ? UREC_B(hi, UREC_RESULT) : 0);
	lift_retire(l, op_is_mem(s) ? rec_load_result(b, lo) : rec);
}

void lift_imul(struct lift *l)
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
	if (l->live & FL_STATUS)
		lift_emit_src(l, UOP_MULF, w, 0, a, b, 1);
	t = lift_dst(l, &op[0]);
	lift_emit_src(l, UOP_MUL, w, t, a, b, 0);
	lift_finish(l, &op[0], t, loaded);
}

void lift_mulx(struct lift *l)
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
				       (op_is_same(&op[0], &op[1]) ? 0 : UREC_B(lo, UREC_RESULT))));
}

void lift_div(struct lift *l)
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

void lift_crc32(struct lift *l)
{
	const ZydisDecodedOperand *d = &l->in->op[0], *s = &l->in->op[1];
	struct reg_part p = reg_part(d->reg.value);
	struct ea ea;
	int b = lift_operand(l, s, &ea);

	lift_emit(l, UOP_CRC32, lift_width(s), p.reg, p.reg, b, 0);
	lift_retire(l, op_is_mem(s) ? rec_load_result(b, p.reg) : rec_result(p.reg));
}

/* cbw cwde cdqe: rax extended in place; cwd cdq cqo: its sign into rdx. */
void lift_convert(struct lift *l)
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
