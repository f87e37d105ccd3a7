/* SPDX-License-Identifier: MIT */
/*
 * Vector instructions whose results are tracked: moves, comparisons and masks of bytes. The results
 * of other vector instructions are unknown (lift_vector.c).
 */
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

/* A vector instruction that is being lifted. */
struct simd {
	struct lift *l;
	struct simd_form f;
	const ZydisDecodedOperand *op[5]; /* the explicit operands, without the mask */
	int nop;
	int w;		 /* width of the vector: log2 of bytes, less 3 */
	int c;		 /* mask and elements, encoded as in micro-ops */
	int mask;	 /* number of the mask register */
	int64_t keep;	 /* UV_KEEP where the upper part stays unchanged */
	int temp;	 /* next free temporary */
	int loaded;	 /* register of the loaded value, or -1 */
	bool has_memory; /* an address is recorded */
};

static struct uop *emit(struct simd *x, int op, int w, int dst, int a, int b, int c, int64_t imm)
{
	struct uop *u = lift_emit(x->l, op, w, dst, a, b, c);

	u->imm = imm;
	return u;
}

static int reg_of(const ZydisDecodedOperand *op)
{
	return op_is_reg(op) ? lift_vreg(op->reg.value) : -1;
}

static int gpr_of(const ZydisDecodedOperand *op)
{
	return op_is_reg(op) ? reg_part(op->reg.value).reg : -1;
}

static void address(struct simd *x, const ZydisDecodedOperand *op)
{
	struct ea ea = lift_ea(x->l, op);

	emit(x, UOP_LEA, 3, UR_EA, ea.a, ea.b, ea.c, ea.imm);
	x->has_memory = true;
}

/* Loads a memory operand into a vector register. c: mask and elements of the load. */
static void load(struct simd *x, const ZydisDecodedOperand *op, int dst, int c, int64_t flags)
{
	int bytes = op->size / 8;

	address(x, op);
	if (!(c & 7))
		x->loaded = lift_temp(x->l);
	emit(x, UOP_VLD, 0, dst, c & 7 ? UR_ZERO : x->loaded, 0, c, bytes | flags);
}

/* The vector register of a source; a source in memory is loaded. */
static int source(struct simd *x, const ZydisDecodedOperand *op)
{
	int reg = reg_of(op);

	if (reg >= 0)
		return reg;
	reg = x->temp++;
	load(x, op, reg, x->mask ? x->mask | UC_ZEROING | (x->c & UC_ELEMENT(3)) : 0, 0);
	return reg;
}

static void retire(struct simd *x, int result)
{
	uint16_t rec = x->has_memory ? UREC_EA : 0;

	if (x->loaded >= 0)
		rec |= UREC_A(x->loaded, UREC_LOAD);
	if (result >= 0)
		rec |= UREC_B(result, UREC_RESULT);
	lift_retire(x->l, rec);
}

/* The sources of an operation of two; in SSE the destination is the first source. */
static bool operands(struct simd *x, int *dst, int *a, int *b)
{
	const ZydisDecodedOperand *first = x->keep ? x->op[0] : x->op[1],
				  *second = x->keep ? x->op[1] : x->op[2];

	if (x->nop < (x->keep ? 2 : 3))
		return false;
	*dst = reg_of(x->op[0]);
	*a = reg_of(first);
	if (*dst < 0 || *a < 0 || (!op_is_mem(second) && reg_of(second) < 0))
		return false;
	*b = source(x, second);
	return true;
}

static int64_t last_imm(const struct simd *x)
{
	return (int64_t)(x->op[x->nop - 1]->imm.value.u & 0xff);
}

/* dst = a, the whole register. */
static void move(struct simd *x, int dst, int a, int c)
{
	emit(x, UOP_VLOGIC, x->w, dst, a, a, c, UV_A | x->keep);
}

static bool lift_whole(struct simd *x)
{
	int dst = reg_of(x->op[0]), src = reg_of(x->op[1]);

	if (x->nop != 2)
		return false;
	if (dst >= 0 && src >= 0) {
		move(x, dst, src, x->c);
	} else if (dst >= 0 && op_is_mem(x->op[1])) {
		load(x, x->op[1], dst, x->c, x->keep);
	} else if (src >= 0 && op_is_mem(x->op[0])) {
		address(x, x->op[0]);
		emit(x, UOP_VST, 0, src, 0, 0, x->c, x->op[0]->size / 8);
	} else {
		return false;
	}
	retire(x, -1);
	return true;
}

/* Puts a general register, or a value in memory, into dst. */
static bool put(struct simd *x, int dst, const ZydisDecodedOperand *op, int w, int64_t imm)
{
	struct ea ea;
	int reg = gpr_of(op);

	if (reg < 0) {
		if (!op_is_mem(op))
			return false;
		ea = lift_ea(x->l, op);
		reg = x->loaded = lift_temp(x->l);
		lift_load(x->l, w, reg, ea);
		x->has_memory = true;
	}
	emit(x, UOP_VPUT, w, dst, 0, reg, 0, imm);
	return true;
}

/* Takes bytes from a vector register to a general register or to memory. Returns the register
 * that holds them, or -1. */
static int get(struct simd *x, const ZydisDecodedOperand *op, int src, int w, int64_t at)
{
	int reg = gpr_of(op), t;
	struct ea ea;

	if (reg >= 0) {
		emit(x, UOP_VGET, w, reg, src, 0, 0, at);
		return reg;
	}
	if (!op_is_mem(op))
		return -1;
	t = lift_temp(x->l);
	emit(x, UOP_VGET, w, t, src, 0, 0, at);
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

static bool lift_movd(struct simd *x)
{
	int dst = reg_of(x->op[0]), src = reg_of(x->op[1]), w = x->f.p, t;

	if (x->nop != 2 || dst >= UV_K0 || src >= UV_K0)
		return false;
	/* vmovd with a 64-bit operand is vmovq */
	if (gpr_of(x->op[0]) >= 0 && x->op[0]->size == 64)
		w = 3;
	if (gpr_of(x->op[1]) >= 0 && x->op[1]->size == 64)
		w = 3;
	if (dst >= 0 && src >= 0) {
		t = lift_temp(x->l);
		emit(x, UOP_VGET, 3, t, src, 0, 0, 0);
		emit(x, UOP_VPUT, 3, dst, 0, t, 0, x->keep);
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
	retire(x, -1);
	return true;
}

/* Lifts movss and movsd. */
static bool lift_movs(struct simd *x)
{
	int dst = reg_of(x->op[0]), w = x->f.p, src = reg_of(x->op[x->nop - 1]), t;

	if (x->mask)
		return false;
	if (dst >= 0 && op_is_mem(x->op[1])) {
		put(x, dst, x->op[1], w, x->keep);
		retire(x, -1);
		return true;
	}
	if (op_is_mem(x->op[0]) && src >= 0) {
		retire_got(x, get(x, x->op[0], src, w, 0));
		return true;
	}
	if (dst < 0 || src < 0)
		return false;
	t = lift_temp(x->l);
	emit(x, UOP_VGET, w, t, src, 0, 0, 0);
	if (!x->keep)
		move(x, dst, reg_of(x->op[1]), 0);
	emit(x, UOP_VPUT, w, dst, 0, t, 0, UV_INSERT);
	retire(x, -1);
	return true;
}

/* Lifts movlps, movhps and the like: 8 bytes at position `at`. */
static bool lift_half(struct simd *x, int64_t at)
{
	int dst = reg_of(x->op[0]), src = reg_of(x->op[x->nop - 1]);
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
		move(x, dst, reg_of(x->op[1]), 0);
	emit(x, UOP_VPUT, 3, dst, 0, t, 0, at | UV_INSERT);
	retire(x, -1);
	return true;
}

static bool lift_logic(struct simd *x)
{
	int dst, a, b, table = x->f.imm;

	if (!operands(x, &dst, &a, &b))
		return false;
	if (a == b && table == UV_XOR)
		table = 0;
	if (a == b && table == UV_ANDN)
		table = 0;
	emit(x, UOP_VLOGIC, x->w, dst, a, b, x->c, table | x->keep);
	retire(x, -1);
	return true;
}

/* Chooses, by the third source's bits, one of two tables of the first two. */
static bool lift_ternary(struct simd *x)
{
	int dst = reg_of(x->op[0]), a = reg_of(x->op[1]), b, one = 0, zero = 0;
	int64_t imm = last_imm(x);

	if (x->nop != 4 || dst < 0 || a < 0)
		return false;
	for (int i = 0; i < 4; i++) {
		zero |= (int)(imm >> (2 * i) & 1) << i;
		one |= (int)(imm >> (2 * i + 1) & 1) << i;
	}
	b = source(x, x->op[2]);
	emit(x, UOP_VLOGIC, x->w, x->temp, dst, a, 0, zero);
	emit(x, UOP_VLOGIC, x->w, x->temp + 1, dst, a, 0, one);
	if (zero == one) {
		move(x, dst, x->temp, x->c);
	} else {
		emit(x, UOP_VLOGIC, x->w, x->temp, x->temp, b, 0, UV_A & ~UV_B);
		emit(x, UOP_VLOGIC, x->w, x->temp + 1, x->temp + 1, b, 0, UV_AND);
		emit(x, UOP_VLOGIC, x->w, dst, x->temp, x->temp + 1, x->c, UV_OR);
	}
	retire(x, -1);
	return true;
}

static bool lift_arith(struct simd *x)
{
	int dst, a, b, op = x->f.imm & 15, swap;

	if (!operands(x, &dst, &a, &b))
		return false;
	if (op == UVA_LT) {
		swap = a;
		a = b;
		b = swap;
	}
	if (dst >= UV_K0)
		emit(x, UOP_VCMP, x->w, dst, a, b, x->c, op == UVA_EQ ? 0 : 1 | UV_SIGNED);
	else if (a == b && (op == UVA_EQ || op == UVA_SUB))
		emit(x, UOP_VLOGIC, x->w, dst, a, b, x->c, (op == UVA_EQ ? 15 : 0) | x->keep);
	else
		emit(x, UOP_VARITH, x->w, dst, a, b, x->c, x->f.imm | x->keep);
	retire(x, -1);
	return true;
}

static bool lift_compare(struct simd *x)
{
	int dst, a, b;
	int64_t how = x->f.imm;

	if (x->f.kind == K_PCMP)
		how |= last_imm(x) & 7;
	else
		how |= UV_TEST;
	if (!operands(x, &dst, &a, &b))
		return false;
	emit(x, UOP_VCMP, x->w, dst, a, b, x->c, how);
	retire(x, -1);
	return true;
}

static bool lift_broadcast(struct simd *x)
{
	int dst = reg_of(x->op[0]), src = reg_of(x->op[1]);

	if (x->mask && !op_is_reg(x->op[1]))
		return false; /* a masked source need not be readable */
	if (gpr_of(x->op[1]) >= 0) {
		src = x->temp++;
		emit(x, UOP_VPUT, x->f.p, src, 0, gpr_of(x->op[1]), 0, 0);
	} else if (src < 0) {
		src = x->temp++;
		load(x, x->op[1], src, 0, 0);
	}
	emit(x, UOP_VBC, x->w, dst, src, 0, x->c, 0);
	retire(x, -1);
	return true;
}

static bool lift_shuffle(struct simd *x)
{
	int dst = reg_of(x->op[0]), a, b;
	int64_t imm = x->f.imm;

	if (imm < 0)
		imm = last_imm(x);
	if (x->mask)
		return false;
	if (x->f.p) { /* this shape is pshufd */
		a = b = source(x, x->op[1]);
	} else if (!operands(x, &dst, &a, &b)) {
		return false;
	}
	emit(x, UOP_VSHUF, x->w, dst, a, b, 0, imm | x->keep);
	retire(x, -1);
	return true;
}

static bool lift_shufpd(struct simd *x)
{
	int64_t i = last_imm(x);
	int dst, a, b;

	if (x->w != 1 || x->mask || !operands(x, &dst, &a, &b))
		return false;
	emit(x, UOP_VSHUF, x->w, dst, a, b, 0,
	     (i & 1 ? 0x0e : 0x04) | (i & 2 ? 0xe0 : 0x40) | x->keep);
	retire(x, -1);
	return true;
}

/* Interleaves the elements of the low or high halves of 16 bytes; bit deposits do that to 4
 * bytes at a time. */
static bool lift_interleave(struct simd *x)
{
	static const uint64_t evens[] = { 0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0xffffffff };
	int64_t even = (int64_t)evens[x->f.p], at = x->f.imm ? 8 : 0;
	int dst, a, b, from_a, from_b, t = lift_temp(x->l), r = lift_temp(x->l);

	if (x->w != 1 || x->mask || !operands(x, &dst, &a, &b))
		return false;
	from_a = lift_temp(x->l);
	from_b = lift_temp(x->l);
	emit(x, UOP_VGET, 3, from_a, a, 0, 0, at);
	emit(x, UOP_VGET, 3, from_b, b, 0, 0, at);
	for (int64_t half = 0; half < 16; half += 8) {
		if (half) {
			lift_emit_imm(x->l, UOP_SHR, 3, from_a, from_a, 32, 0);
			lift_emit_imm(x->l, UOP_SHR, 3, from_b, from_b, 32, 0);
		}
		lift_emit_imm(x->l, UOP_PDEP, 3, r, from_a, even, 0);
		lift_emit_imm(x->l, UOP_PDEP, 3, t, from_b, ~even, 0);
		lift_emit(x->l, UOP_OR, 3, r, r, t, 0);
		emit(x, UOP_VPUT, 3, dst, 0, r, 0, half ? half | UV_INSERT : x->keep);
	}
	retire(x, -1);
	return true;
}

static bool lift_shift_bytes(struct simd *x)
{
	int dst = reg_of(x->op[0]), src = reg_of(x->op[x->keep ? 0 : 1]), zero = x->temp++;
	int64_t n = last_imm(x) > 16 ? 16 : last_imm(x);

	if (dst < 0 || src < 0)
		return false;
	emit(x, UOP_VLOGIC, x->w, zero, src, src, 0, 0);
	if (x->f.imm)
		emit(x, UOP_VSHB, x->w, dst, src, zero, 0, n | x->keep);
	else
		emit(x, UOP_VSHB, x->w, dst, zero, src, 0, (16 - n) | x->keep);
	retire(x, -1);
	return true;
}

static bool lift_align(struct simd *x)
{
	int64_t n = last_imm(x);
	int dst, a, b;

	if (x->mask || n > 31 || !operands(x, &dst, &a, &b))
		return false;
	emit(x, UOP_VSHB, x->w, dst, b, a, 0, n | x->keep);
	retire(x, -1);
	return true;
}

static bool lift_insert(struct simd *x)
{
	int dst = reg_of(x->op[0]), first = x->keep ? dst : reg_of(x->op[1]), w = x->f.p;
	const ZydisDecodedOperand *from = x->op[x->keep ? 1 : 2];
	int64_t at = (last_imm(x) << w & 15) | UV_INSERT;

	if (dst < 0 || first < 0)
		return false;
	if (!x->keep && first != dst)
		move(x, dst, first, 0);
	else if (!x->keep)
		move(x, dst, dst, 0);
	if (!put(x, dst, from, w, at))
		return false;
	retire(x, -1);
	return true;
}

static bool lift_extract(struct simd *x)
{
	int src = reg_of(x->op[1]), reg;

	if (src < 0)
		return false;
	reg = get(x, x->op[0], src, x->f.p, last_imm(x) << x->f.p & 15);
	if (reg < 0)
		return false;
	retire_got(x, reg);
	return true;
}

static bool lift_bits(struct simd *x)
{
	int dst = gpr_of(x->op[0]), src = reg_of(x->op[1]);

	if (dst < 0 || src < 0)
		return false;
	emit(x, UOP_VBITS, x->op[1]->size / 128, dst, src, 0, UC_ELEMENT(x->f.p), 0);
	retire(x, dst);
	return true;
}

static bool lift_ptest(struct simd *x)
{
	int a = reg_of(x->op[0]), b;

	if (a < 0)
		return false;
	b = source(x, x->op[1]);
	emit(x, UOP_VTEST, x->w, 0, a, b, 0, 0);
	retire(x, -1);
	return true;
}

static bool lift_zero_upper(struct simd *x)
{
	emit(x, UOP_VZ, 0, 0, 0, 0, 0, 0);
	retire(x, -1);
	return true;
}

/* Lifts floating-point operations: the source is a register, or a number in memory. */
static bool lift_float(struct simd *x)
{
	const ZydisDecodedOperand *from = x->op[x->nop - 1];
	int dst = gpr_of(x->op[0]), a = reg_of(x->op[0]), b, e = UC_ELEMENT(x->f.p);

	if (x->l->in->z.avx.has_sae || x->l->in->z.avx.rounding.mode)
		return false;
	if (x->f.kind == K_INTF) {
		int w = lift_width(from), reg = gpr_of(from);
		struct ea ea;

		if (reg < 0) {
			ea = lift_ea(x->l, from);
			reg = x->loaded = lift_temp(x->l);
			lift_load(x->l, w, reg, ea);
			x->has_memory = true;
		}
		if (!x->keep)
			move(x, a, reg_of(x->op[1]), 0);
		emit(x, UOP_VINTF, w, a, 0, reg, e, UV_INSERT);
		retire(x, -1);
		return true;
	}
	b = source(x, from);
	if (x->f.kind == K_FCMP)
		emit(x, UOP_VFCMP, 0, 0, a, b, e, 0);
	else
		emit(x, UOP_VFINT, lift_width(x->op[0]), dst, b, 0, e, x->f.imm);
	retire(x, x->f.kind == K_FINT ? dst : -1);
	return true;
}

static bool lift_kmov(struct simd *x)
{
	int dst = reg_of(x->op[0]), src = reg_of(x->op[1]), w = x->f.p;

	if (dst >= 0 && src >= 0) {
		emit(x, UOP_KOP, w, dst, src, src, 0, UV_A);
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
	retire(x, -1);
	return true;
}

static bool lift_mask_op(struct simd *x)
{
	int k0 = reg_of(x->op[0]), k1 = reg_of(x->op[1]), w = x->f.p, table = x->f.imm;
	int k2 = x->nop > 2 ? reg_of(x->op[2]) : -1;
	int64_t n;

	if (k0 < UV_K0 || k1 < UV_K0)
		return false;
	switch (x->f.kind) {
	case K_KTEST:
		emit(x, UOP_KTEST, w, 0, k0, k1, 0, table);
		break;
	case K_KCAT:
		emit(x, UOP_KCAT, w, k0, k1, k2, 0, 0);
		break;
	case K_KNOT:
		emit(x, UOP_KOP, w, k0, k1, k1, 0, table);
		break;
	case K_KSHIFT:
		n = last_imm(x);
		emit(x, UOP_KSH, w, k0, k1, 0, 0, n >= 8 << w ? 64 : table * n);
		break;
	default:
		if (k1 == k2 && table == UV_XOR)
			table = 0;
		if (k1 == k2 && table == UV_XNOR)
			table = 15;
		emit(x, UOP_KOP, w, k0, k1, k2, 0, table);
		break;
	}
	retire(x, -1);
	return true;
}

static bool lift_form(struct simd *x)
{
	switch (x->f.kind) {
	case K_MOVE:
		return lift_whole(x);
	case K_MOVD:
		return lift_movd(x);
	case K_MOVS:
		return lift_movs(x);
	case K_LOW:
		return lift_half(x, 0);
	case K_HIGH:
		return lift_half(x, 8);
	case K_LOGIC:
		return lift_logic(x);
	case K_ARITH:
		return lift_arith(x);
	case K_PCMP:
	case K_TESTM:
		return lift_compare(x);
	case K_BROADCAST:
		return lift_broadcast(x);
	case K_SHUFFLE:
		return lift_shuffle(x);
	case K_SHUFPD:
		return lift_shufpd(x);
	case K_INTERLEAVE:
		return lift_interleave(x);
	case K_SHIFTB:
		return lift_shift_bytes(x);
	case K_ALIGN:
		return lift_align(x);
	case K_INSERT:
		return lift_insert(x);
	case K_EXTRACT:
		return lift_extract(x);
	case K_BITS:
		return lift_bits(x);
	case K_TEST:
		return lift_ptest(x);
	case K_ZERO_UPPER:
		return lift_zero_upper(x);
	case K_TERNARY:
		return lift_ternary(x);
	case K_FCMP:
	case K_FINT:
	case K_INTF:
		return lift_float(x);
	case K_KMOV:
		return lift_kmov(x);
	case K_NONE:
		return false;
	default:
		return lift_mask_op(x);
	}
}

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
	if (is_plain(&x) && lift_form(&x))
		return true;
	l->n = n;
	l->temp = temp;
	return false;
}
