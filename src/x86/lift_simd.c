/* SPDX-License-Identifier: MIT */
/* The operands of vector instructions whose results are tracked, and the choice of a function by kind. */
#include "x86/lift_simd.h"

int lift_vreg(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return ZydisRegisterGetId(r);
	case ZYDIS_REGCLASS_MASK:
		return UV_K0 + ZydisRegisterGetId(r);
	default:
		return -1;
	}
}

struct uop *simd_emit(struct simd *x, int op, int w, int dst, int a, int b, int c, int64_t imm)
{
	struct uop *u = lift_emit(x->l, op, w, dst, a, b, c);

	u->imm = imm;
	return u;
}

int simd_reg(const ZydisDecodedOperand *op)
{
	return op_is_reg(op) ? lift_vreg(op->reg.value) : -1;
}

int simd_gpr(const ZydisDecodedOperand *op)
{
	return op_is_reg(op) ? reg_part(op->reg.value).reg : -1;
}

void simd_address(struct simd *x, const ZydisDecodedOperand *op)
{
	struct ea ea = lift_ea(x->l, op);

	simd_emit(x, UOP_LEA, 3, UR_EA, ea.a, ea.b, ea.c, ea.imm);
	x->has_memory = true;
}

void simd_load(struct simd *x, const ZydisDecodedOperand *op, int dst, int c, int64_t flags)
{
	int bytes = op->size / 8;

	simd_address(x, op);
	if (!(c & 7))
		x->loaded = lift_temp(x->l);
	simd_emit(x, UOP_VLD, 0, dst, c & 7 ? UR_ZERO : x->loaded, 0, c, bytes | flags);
}

int simd_source(struct simd *x, const ZydisDecodedOperand *op)
{
	int reg = simd_reg(op);

	if (reg >= 0)
		return reg;
	reg = x->temp++;
	simd_load(x, op, reg, x->mask ? x->mask | UC_ZEROING | (x->c & UC_ELEMENT(3)) : 0, 0);
	return reg;
}

void simd_retire(struct simd *x, int result)
{
	uint16_t rec = x->has_memory ? UREC_EA : 0;

	if (x->loaded >= 0)
		rec |= UREC_A(x->loaded, UREC_LOAD);
	if (result >= 0)
		rec |= UREC_B(result, UREC_RESULT);
	lift_retire(x->l, rec);
}

bool simd_operands(struct simd *x, int *dst, int *a, int *b)
{
	const ZydisDecodedOperand *first = x->keep ? x->op[0] : x->op[1],
				  *second = x->keep ? x->op[1] : x->op[2];

	if (x->nop < (x->keep ? 2 : 3))
		return false;
	*dst = simd_reg(x->op[0]);
	*a = simd_reg(first);
	if (*dst < 0 || *a < 0 || (!op_is_mem(second) && simd_reg(second) < 0))
		return false;
	*b = simd_source(x, second);
	return true;
}

int64_t simd_imm(const struct simd *x)
{
	return (int64_t)(x->op[x->nop - 1]->imm.value.u & 0xff);
}

void simd_copy(struct simd *x, int dst, int a, int c)
{
	simd_emit(x, UOP_VLOGIC, x->w, dst, a, a, c, UV_A | x->keep);
}

static simd_fn *const by_kind[] = {
	[K_MOVE] = simd_whole,
	[K_MOVD] = simd_movd,
	[K_MOVS] = simd_movs,
	[K_LOW] = simd_half,
	[K_HIGH] = simd_half,
	[K_LOGIC] = simd_logic,
	[K_ARITH] = simd_arith,
	[K_PCMP] = simd_compare,
	[K_TESTM] = simd_compare,
	[K_BROADCAST] = simd_broadcast,
	[K_SHUFFLE] = simd_shuffle,
	[K_SHUFPD] = simd_shufpd,
	[K_INTERLEAVE] = simd_interleave,
	[K_SHIFTB] = simd_shift_bytes,
	[K_ALIGN] = simd_align,
	[K_INSERT] = simd_insert,
	[K_EXTRACT] = simd_extract,
	[K_BITS] = simd_bits,
	[K_TEST] = simd_ptest,
	[K_ZERO_UPPER] = simd_zero_upper,
	[K_TERNARY] = simd_ternary,
	[K_FCMP] = simd_float,
	[K_FINT] = simd_float,
	[K_INTF] = simd_float,
	[K_KMOV] = simd_kmov,
	[K_KTEST] = simd_mask_op,
	[K_KCAT] = simd_mask_op,
	[K_KLOGIC] = simd_mask_op,
	[K_KNOT] = simd_mask_op,
	[K_KSHIFT] = simd_mask_op,
};

/* Whether the instruction has only properties that are handled here, among those that make forms
 * of a mnemonic differ. */
static bool is_plain(const struct simd *x)
{
	const ZydisDecodedInstruction *z = &x->l->in->z;

	if (z->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID && !z->avx.broadcast.is_static)
		return false;
	for (int i = 0; i < x->nop; i++)
		if (op_is_reg(x->op[i]) && lift_vreg(x->op[i]->reg.value) < 0 &&
		    reg_part(x->op[i]->reg.value).reg < 0)
			return false; /* MMX registers */
	return true;
}

bool lift_simd(struct lift *l)
{
	static const ZydisDecodedOperand none;
	const ZydisDecodedInstruction *z = &l->in->z;
	struct simd x = { .l = l, .f = *lift_simd_form(z->mnemonic), .temp = UV_T0, .loaded = -1 };
	int n = l->n, temp = l->temp;

	if (x.f.kind == K_NONE)
		return false;
	for (int i = 0; i < 5; i++)
		x.op[i] = &none;
	for (int i = 0; i < z->operand_count_visible && x.nop < 5; i++)
		if (l->in->op[i].encoding != ZYDIS_OPERAND_ENCODING_MASK)
			x.op[x.nop++] = &l->in->op[i];
	x.w = z->avx.vector_length == 512 ? 3 : z->avx.vector_length == 256 ? 2 : 1;
	if (!x.nop && x.f.kind != K_ZERO_UPPER)
		return false;
	if (x.f.kind == K_INTF || x.f.kind == K_MOVS) /* The vector length has no effect here. */
		x.w = 1;
	x.keep = z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ? UV_KEEP : 0;
	if (z->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED && z->avx.mask.reg != ZYDIS_REGISTER_NONE)
		x.mask = ZydisRegisterGetId(z->avx.mask.reg) & 7;
	x.c = x.mask | UC_ELEMENT(x.f.p) |
	      (x.mask && z->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING ? UC_ZEROING : 0);
	if (is_plain(&x) && by_kind[x.f.kind](&x))
		return true;
	l->n = n;
	l->temp = temp;
	return false;
}
