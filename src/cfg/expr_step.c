/* SPDX-License-Identifier: MIT */
/* What instructions along a path do to registers, memory and flags, and what follows from the branches between them. */
#include "cfg/expr_priv.h"

#include <string.h>

#include "base/invariant.h"
#include "x86/reg.h"

static bool is_stack(const struct expr_path *p, const struct expr *sum)
{
	const struct expr *x = &p->node[sum->term[0].node];

	return sum->nterms == 1 && sum->term[0].coef == 1 && x->op == EXPR_INIT &&
	       (x->size == UR_RSP || x->size == UR_RBP);
}

static uint32_t load_constant(struct expr_path *p, uint64_t addr, unsigned size)
{
	struct cfg_source *src = &p->code->src;
	uint64_t v = 0;
	bool fixed = false;

	if (size > 8 || !src->data || !src->data(src->ctx, addr, &v, size, &fixed) || !fixed)
		return EXPR_NONE;
	return expr_constant(p, v);
}

/* Finds the value that was stored there; EXPR_NONE: memory has its earlier contents. */
static uint32_t load_stored(struct expr_path *p, const struct expr *at, unsigned size)
{
	for (uint32_t i = p->nstores; i-- > 0;) {
		const struct expr_store *s = &p->store[i];
		struct expr to = expr_as_sum(p, s->addr);
		int64_t ahead = (int64_t)(at->c - to.c);

		if (to.term[0].node != at->term[0].node)
			continue;
		if (ahead == 0 && size <= s->size)
			return expr_zext(p, s->value, size);
		if (ahead < s->size && -ahead < (int64_t)size)
			return expr_other(p);
	}
	return EXPR_NONE;
}

static uint32_t load(struct expr_path *p, uint32_t addr, unsigned size)
{
	struct expr e = { .op = EXPR_LOAD, .size = (uint8_t)size, .a = addr, .c = p->memory };
	struct expr at = expr_as_sum(p, addr);
	uint32_t v = EXPR_NONE;

	if (size > 8)
		return expr_other(p);
	if (expr_is_constant(p, addr))
		v = load_constant(p, at.c, size);
	if (is_stack(p, &at)) {
		v = load_stored(p, &at, size);
		e.c = p->stack;
	}
	e.hi = expr_max(size);
	return v != EXPR_NONE ? v : expr_intern(p, &e);
}

static void forget_stack(struct expr_path *p)
{
	p->nstores = 0;
	p->stack = ++p->others;
}

/* Finds an earlier load of the same place: a compiler that does not check the value again knew of
 * no store to the place. */
static bool was_loaded(const struct expr_path *p, uint32_t addr)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->node[i].op == EXPR_LOAD && p->node[i].a == addr)
			return true;
	return false;
}

static void store(struct expr_path *p, uint32_t addr, unsigned size, uint32_t value)
{
	struct expr at = expr_as_sum(p, addr);

	if (!is_stack(p, &at)) {
		if (was_loaded(p, addr))
			p->memory = ++p->others;
		return;
	}
	if (p->nstores == EXPR_STORES)
		forget_stack(p);
	invariant(p->nstores < EXPR_STORES && addr < p->n && value < p->n);
	p->store[p->nstores++] = (struct expr_store){ addr, value, (uint8_t)size };
}

static uint32_t address(struct expr_path *p, const struct insn *in, const ZydisDecodedOperand *op)
{
	struct reg_part base = reg_part(op->mem.base), index = reg_part(op->mem.index);
	uint64_t disp = op->mem.disp.has_displacement ? (uint64_t)op->mem.disp.value : 0;
	uint32_t sum;

	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		return expr_other(p);
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		return expr_constant(p, in->addr + in->len + disp);
	if ((op->mem.base != ZYDIS_REGISTER_NONE && (base.reg < 0 || base.width != 3)) ||
	    (op->mem.index != ZYDIS_REGISTER_NONE && (index.reg < 0 || index.width != 3)))
		return expr_other(p);
	sum = expr_constant(p, disp);
	if (base.reg >= 0)
		sum = expr_add(p, sum, 1, p->reg[base.reg]);
	if (index.reg >= 0)
		sum = expr_add(p, sum, op->mem.scale, expr_as_one(p, p->reg[index.reg]));
	return sum;
}

static uint32_t read_operand(struct expr_path *p, const struct insn *in, int i)
{
	const ZydisDecodedOperand *op = &in->op[i];
	struct reg_part r;

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return expr_constant(p, op->imm.value.u & expr_max(in->op[0].size / 8u));
	case ZYDIS_OPERAND_TYPE_REGISTER:
		r = reg_part(op->reg.value);
		return r.reg < 0 || r.high ? expr_other(p)
					   : expr_zext(p, p->reg[r.reg], 1u << r.width);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return load(p, address(p, in, op), op->size / 8u);
	default:
		return expr_other(p);
	}
}

static void write_operand(struct expr_path *p, const struct insn *in, int i, uint32_t value)
{
	const ZydisDecodedOperand *op = &in->op[i];
	struct reg_part r;

	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		store(p, address(p, in, op), op->size / 8u, value);
		return;
	}
	r = op->type == ZYDIS_OPERAND_TYPE_REGISTER ? reg_part(op->reg.value)
						    : (struct reg_part){ -1, 0, false };
	/* A register that is written in part is used as that part: the rest counts as zero. */
	if (r.reg >= 0)
		p->reg[r.reg] = r.high ? expr_other(p) : expr_zext(p, value, 1u << r.width);
}

static void set_flags(struct expr_path *p, enum expr_flags kind, uint32_t a, uint32_t b,
		      unsigned size)
{
	invariant(kind != EXPR_FLAGS_OTHER && size && size <= 8);
	p->flags = (uint8_t)kind;
	p->flags_a = a;
	p->flags_b = b;
	p->flags_size = (uint8_t)size;
}

/* Handles any other instruction: the registers it writes become unknown. */
static void step_other(struct expr_path *p, const struct insn *in)
{
	for (int r = 0; r < 16; r++)
		if (in->gpr_written >> r & 1)
			p->reg[r] = expr_other(p);
	if (in->fl_written)
		p->flags = EXPR_FLAGS_OTHER;
	for (int i = 0; i < in->z.operand_count; i++)
		if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    in->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			store(p, address(p, in, &in->op[i]), in->op[i].size / 8u, expr_other(p));
}

/* Handles a call. A caller-saved register that is used after the call counts as preserved:
 * compilers know what the callee preserves. */
static void step_call(struct expr_path *p)
{
	p->reg[UR_RAX] = expr_other(p);
	p->reg[UR_RDX] = expr_other(p);
	p->flags = EXPR_FLAGS_OTHER;
	p->memory = ++p->others;
	forget_stack(p);
}

static void step_push(struct expr_path *p, const struct insn *in)
{
	uint32_t value = read_operand(p, in, 0);

	p->reg[UR_RSP] = expr_add(p, p->reg[UR_RSP], 1, expr_constant(p, (uint64_t)-8));
	store(p, p->reg[UR_RSP], 8, in->op[0].size == 64 ? value : expr_other(p));
}

static void step_pop(struct expr_path *p, const struct insn *in)
{
	uint32_t value = load(p, p->reg[UR_RSP], 8);

	p->reg[UR_RSP] = expr_add(p, p->reg[UR_RSP], 1, expr_constant(p, 8));
	write_operand(p, in, 0, value);
}

static void step_leave(struct expr_path *p)
{
	p->reg[UR_RSP] = expr_add(p, p->reg[UR_RBP], 1, expr_constant(p, 8));
	p->reg[UR_RBP] = load(p, p->reg[UR_RBP], 8);
}

/* Handles add, sub, and, xor and similar instructions of two operands. */
static void step_binary(struct expr_path *p, const struct insn *in)
{
	unsigned size = in->op[0].size / 8u;
	uint32_t a = read_operand(p, in, 0), b = read_operand(p, in, 1), v;
	bool same = in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->op[0].reg.value == in->op[1].reg.value;

	if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && size == 8)
		b = expr_constant(p, in->op[1].imm.value.u);
	p->flags = EXPR_FLAGS_OTHER;
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		v = expr_add(p, a, 1, b);
		break;
	case ZYDIS_MNEMONIC_SUB:
		set_flags(p, EXPR_FLAGS_COMPARE, a, b, size);
		v = same ? expr_constant(p, 0) : expr_add(p, a, (uint64_t)-1, b);
		break;
	case ZYDIS_MNEMONIC_AND:
		set_flags(p, EXPR_FLAGS_TEST, a, b, size);
		v = expr_is_constant(p, b)   ? expr_masked(p, a, p->node[b].c)
		    : expr_is_constant(p, a) ? expr_masked(p, b, p->node[a].c)
					     : expr_other(p);
		break;
	case ZYDIS_MNEMONIC_OR:
		v = same ? a : expr_joined(p, a, b);
		break;
	default:
		v = same && in->z.mnemonic == ZYDIS_MNEMONIC_XOR ? expr_constant(p, 0)
								 : expr_other(p);
		break;
	}
	write_operand(p, in, 0, expr_zext(p, v, size));
}

static void step_shift(struct expr_path *p, const struct insn *in)
{
	unsigned size = in->op[0].size / 8u;
	uint32_t a = read_operand(p, in, 0), v = expr_other(p);
	uint64_t by = in->op[1].imm.value.u & (size == 8 ? 63 : 31);

	p->flags = EXPR_FLAGS_OTHER;
	if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		v = in->z.mnemonic == ZYDIS_MNEMONIC_SHR ? expr_shifted(p, a, (unsigned)by)
							 : expr_times(p, a, 1ull << by);
	write_operand(p, in, 0, expr_zext(p, v, size));
}

static void step_move(struct expr_path *p, const struct insn *in)
{
	unsigned to = in->op[0].size / 8u, from = in->op[1].size / 8u;
	uint32_t v = read_operand(p, in, 1);

	if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		v = expr_constant(p, in->op[1].imm.value.u & expr_max(to));
	if (in->z.mnemonic == ZYDIS_MNEMONIC_MOVSX || in->z.mnemonic == ZYDIS_MNEMONIC_MOVSXD)
		v = expr_zext(p, expr_sext(p, v, from), to);
	write_operand(p, in, 0, v);
}

static void step_one(struct expr_path *p, const struct insn *in, uint64_t by)
{
	uint32_t a = read_operand(p, in, 0);

	p->flags = EXPR_FLAGS_OTHER;
	write_operand(p, in, 0,
		      expr_zext(p, expr_add(p, a, 1, expr_constant(p, by)), in->op[0].size / 8u));
}

void expr_step(struct expr_path *p, const struct insn *in)
{
	invariant(p->n <= EXPR_NODES && p->nstores <= EXPR_STORES);
	for (int r = 0; r < 16; r++)
		invariant(p->reg[r] < p->n);
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		step_move(p, in);
		return;
	case ZYDIS_MNEMONIC_LEA:
		write_operand(p, in, 0, address(p, in, &in->op[1]));
		return;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_OR:
		step_binary(p, in);
		return;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
		step_shift(p, in);
		return;
	case ZYDIS_MNEMONIC_INC:
		step_one(p, in, 1);
		return;
	case ZYDIS_MNEMONIC_DEC:
		step_one(p, in, (uint64_t)-1);
		return;
	case ZYDIS_MNEMONIC_CMP:
		set_flags(p, EXPR_FLAGS_COMPARE, read_operand(p, in, 0), read_operand(p, in, 1),
			  in->op[0].size / 8u);
		return;
	case ZYDIS_MNEMONIC_TEST:
		set_flags(p, EXPR_FLAGS_TEST, read_operand(p, in, 0), read_operand(p, in, 1),
			  in->op[0].size / 8u);
		return;
	case ZYDIS_MNEMONIC_CDQE:
		p->reg[UR_RAX] = expr_sext(p, expr_zext(p, p->reg[UR_RAX], 4), 4);
		return;
	case ZYDIS_MNEMONIC_CWDE:
		p->reg[UR_RAX] = expr_zext(p, expr_sext(p, expr_zext(p, p->reg[UR_RAX], 2), 2), 4);
		return;
	case ZYDIS_MNEMONIC_PUSH:
		step_push(p, in);
		return;
	case ZYDIS_MNEMONIC_POP:
		step_pop(p, in);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		step_leave(p);
		return;
	default:
		break;
	}
	if (in->z.meta.category == ZYDIS_CATEGORY_SETCC) {
		struct expr bit = { .op = EXPR_OTHER, .c = p->others++, .hi = 1, .bounded = true };

		write_operand(p, in, 0, expr_intern(p, &bit));
	} else if (in->cls == INSN_CALL || in->cls == INSN_ICALL)
		step_call(p);
	else if (in->cls < INSN_BRANCH || in->cls == INSN_SYSCALL)
		step_other(p, in);
}

enum relation {
	BELOW,
	BELOW_EQUAL,
	EQUAL,
	NOT_BELOW,
	NOT_BELOW_EQUAL,
	NOT_EQUAL,
	NO_RELATION,
};

static enum relation relation(const struct insn *in, bool taken)
{
	static const enum relation inverse[] = { NOT_BELOW,   NOT_BELOW_EQUAL, NOT_EQUAL,  BELOW,
						 BELOW_EQUAL, EQUAL,	       NO_RELATION };
	enum relation r;

	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_JB:
		r = BELOW;
		break;
	case ZYDIS_MNEMONIC_JBE:
		r = BELOW_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JZ:
		r = EQUAL;
		break;
	case ZYDIS_MNEMONIC_JNB:
		r = NOT_BELOW;
		break;
	case ZYDIS_MNEMONIC_JNBE:
		r = NOT_BELOW_EQUAL;
		break;
	case ZYDIS_MNEMONIC_JNZ:
		r = NOT_EQUAL;
		break;
	default:
		return NO_RELATION;
	}
	return taken ? r : inverse[r];
}

/* Bounds x by its unsigned relation to c. */
static void limit_by(struct expr_path *p, uint32_t x, enum relation r, uint64_t c, uint64_t max)
{
	switch (r) {
	case BELOW:
		if (c)
			expr_limit(p, x, 0, c - 1);
		break;
	case BELOW_EQUAL:
		expr_limit(p, x, 0, c);
		break;
	case EQUAL:
		expr_limit(p, x, c, c);
		break;
	case NOT_BELOW:
		expr_limit(p, x, c, max);
		break;
	case NOT_BELOW_EQUAL:
		if (c < max)
			expr_limit(p, x, c + 1, max);
		break;
	default:
		break;
	}
}

void expr_branch(struct expr_path *p, const struct insn *in, bool taken)
{
	static const enum relation swapped[] = { NOT_BELOW_EQUAL, NOT_BELOW, EQUAL,
						 BELOW_EQUAL,	  BELOW,     NOT_EQUAL,
						 NO_RELATION };
	enum relation r = relation(in, taken);
	uint32_t a = p->flags_a, b = p->flags_b;
	uint64_t max = expr_max(p->flags_size), mask;

	if (r == NO_RELATION || p->flags == EXPR_FLAGS_OTHER)
		return;
	invariant(a < p->n && b < p->n);
	if (p->flags == EXPR_FLAGS_COMPARE) {
		if (expr_is_constant(p, b))
			limit_by(p, a, r, p->node[b].c & max, max);
		else if (expr_is_constant(p, a))
			limit_by(p, b, swapped[r], p->node[a].c & max, max);
		return;
	}
	if (a == b && r == EQUAL)
		expr_limit(p, a, 0, 0);
	/* a result of 0 says that all masked bits are clear */
	if (!expr_is_constant(p, b) || r != EQUAL)
		return;
	mask = ~p->node[b].c & max;
	if (!(mask & (mask + 1)))
		expr_limit(p, a, 0, mask);
}

void expr_begin(struct expr_path *p, struct cfg_code *code, uint16_t known, const uint64_t *value)
{
	p->code = code;
	p->n = 0;
	memset(p->hash, 0, sizeof(p->hash));
	p->flags = EXPR_FLAGS_OTHER;
	p->nstores = 0;
	p->memory = p->stack = 0;
	p->others = 1;
	p->full = false;
	for (int r = 0; r < 16; r++) {
		struct expr e = { .op = EXPR_INIT, .size = (uint8_t)r, .hi = UINT64_MAX };

		p->reg[r] = known >> r & 1 ? expr_constant(p, value[r]) : expr_intern(p, &e);
	}
}

uint32_t expr_target(struct expr_path *p, const struct insn *in)
{
	return read_operand(p, in, 0);
}
