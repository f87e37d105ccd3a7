/* SPDX-License-Identifier: MIT */
#include "image/frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "image/image_priv.h"

#define RETURN_COLUMN 16
#define DEPTH 32
#define OPS_MAX 64

/* DWARF's register numbers, by encoding order. */
static const uint8_t encoded[16] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };

struct machine {
	const struct frame_state *f;
	uint64_t cfa, pc;
	bool (*read)(void *ctx, uint64_t at, uint64_t *v);
	void *ctx;
	uint64_t stack[DEPTH];
	unsigned n;
	bool is_value;
	bool in_register; /* the value is that of a register, and nothing is added */
};

static bool push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH)
		return false;
	m->stack[m->n++] = v;
	return true;
}

static bool push_register(struct machine *m, unsigned number, uint64_t add)
{
	if (number == RETURN_COLUMN)
		return push(m, m->pc + add);
	return number < 16 && push(m, m->f->reg[encoded[number]] + add);
}

static bool value_of_register(struct machine *m, unsigned number)
{
	m->is_value = m->in_register = true;
	return push_register(m, number, 0);
}

static bool binary(struct machine *m, unsigned op)
{
	uint64_t a, b;

	if (m->n < 2)
		return false;
	b = m->stack[--m->n];
	a = m->stack[--m->n];
	switch (op) {
	case DW_OP_plus:
		return push(m, a + b);
	case DW_OP_minus:
		return push(m, a - b);
	case DW_OP_and:
		return push(m, a & b);
	case DW_OP_shl:
		return push(m, b < 64 ? a << b : 0);
	default: /* the operation is ge */
		return push(m, (int64_t)a >= (int64_t)b);
	}
}

static bool step(struct machine *m, const Dwarf_Op *op)
{
	unsigned atom = op->atom;

	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		return value_of_register(m, atom - DW_OP_reg0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, atom - DW_OP_breg0, op->number);
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(m, atom - DW_OP_lit0);
	switch (atom) {
	case DW_OP_regx:
		return value_of_register(m, (unsigned)op->number);
	case DW_OP_bregx:
		return push_register(m, (unsigned)op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(m, m->cfa);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_plus_uconst:
		return m->n && (m->stack[m->n - 1] += op->number, true);
	case DW_OP_deref:
		return m->n && m->read(m->ctx, m->stack[m->n - 1], &m->stack[m->n - 1]);
	case DW_OP_stack_value:
		m->is_value = true;
		return true;
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
	case DW_OP_shl:
	case DW_OP_ge:
		return binary(m, atom);
	default:
		return false;
	}
}

static bool evaluate(struct machine *m, const Dwarf_Op *op, size_t n, uint64_t *v)
{
	m->n = 0;
	m->is_value = m->in_register = false;
	if (!n || n > OPS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!step(m, &op[i]))
			return false;
	if (!m->n)
		return false;
	*v = m->stack[m->n - 1];
	return true;
}

static enum frames_next unwind_frame(Dwarf_Frame *frame, struct machine *m, bool returned,
				     struct frame_state *to)
{
	Dwarf_Op mem[3], *op;
	size_t n;

	if (dwarf_frame_cfa(frame, &op, &n))
		return FRAMES_UNKNOWN;
	if (!evaluate(m, op, n, &m->cfa))
		return FRAMES_UNREADABLE;
	*to = *m->f;
	for (int i = 0; i <= RETURN_COLUMN; i++) {
		uint64_t v;

		if (dwarf_frame_register(frame, i, mem, &op, &n))
			return FRAMES_UNKNOWN;
		/* an empty rule keeps the register; an undefined return address ends the walk */
		if (!n) {
			if (i == RETURN_COLUMN)
				return FRAMES_OUTERMOST;
			continue;
		}
		if (!evaluate(m, op, n, &v))
			return FRAMES_UNREADABLE;
		/* below the stack pointer: an epilogue has restored the register already */
		if (!m->is_value && i != RETURN_COLUMN && v < m->f->reg[4])
			continue;
		if (!m->is_value && !m->read(m->ctx, v, &v))
			return FRAMES_UNREADABLE;
		if (i == RETURN_COLUMN)
			to->pc = v;
		else
			to->reg[encoded[i]] = v;
	}
	to->reg[4] = m->cfa;
	if (!to->pc)
		return FRAMES_OUTERMOST;
	/* vfork takes its return address from the stack, and the register that holds it is known for the innermost
	 * frame only */
	if (m->in_register && !returned)
		return to->reg[4] >= m->f->reg[4] ? FRAMES_CALLER : FRAMES_UNREADABLE;
	return to->reg[4] > m->f->reg[4] ? FRAMES_CALLER : FRAMES_UNREADABLE;
}

/* Steps by a rule of Go's, whose table has everything that the program's other information would
 * tell. */
static enum frames_next by_rule(const struct unwind_rule *r, struct machine *m,
				struct frame_state *to)
{
	uint64_t sp = m->f->reg[4], at = sp + (uint64_t)(int64_t)r->off;

	*to = *m->f;
	to->interrupted = r->kind == RULE_SIGNAL;
	switch (r->kind) {
	case RULE_OUTERMOST:
		return FRAMES_OUTERMOST;
	case RULE_SIGNAL:
		return m->read(m->ctx, at, &to->reg[4]) &&
				       m->read(m->ctx, sp + (uint64_t)(int64_t)r->bp_off,
					       &to->reg[5]) &&
				       m->read(m->ctx, sp + (uint64_t)(int64_t)r->ra_off, &to->pc)
			       ? FRAMES_CALLER
			       : FRAMES_UNREADABLE;
	case RULE_SWITCH:
		to->reg[4] = m->f->reg[5] + 16;
		return m->read(m->ctx, m->f->reg[5], &to->reg[5]) &&
				       m->read(m->ctx, m->f->reg[5] + 8, &to->pc)
			       ? FRAMES_CALLER
			       : FRAMES_UNREADABLE;
	default:
		to->reg[4] = at;
		if (at <= sp || !m->read(m->ctx, at - 8, &to->pc) ||
		    (r->bp == RULE_BP_CFA && !m->read(m->ctx, at - 16, &to->reg[5])))
			return FRAMES_UNREADABLE;
		return to->pc ? FRAMES_CALLER : FRAMES_OUTERMOST;
	}
}

enum frames_next frames_next(struct image *im, struct frame_state *f, uint64_t to_addr,
			     bool returned, bool (*read)(void *ctx, uint64_t at, uint64_t *v),
			     void *ctx)
{
	struct machine m = { .f = f, .pc = f->pc, .read = read, .ctx = ctx };
	uint64_t addr = f->pc + to_addr - returned;
	struct unwind_row row;
	struct frame_state to;
	Dwarf_Frame *frame;
	enum frames_next next;

	if (gopcln_open(&im->gopcln, &im->file) && gopcln_row(&im->gopcln, addr, &row)) {
		next = by_rule(&row.rule, &m, &to);
		if (next == FRAMES_CALLER)
			*f = to;
		return next;
	}
	frame = cfi_frame(&im->cfi, &im->file, addr);
	if (!frame)
		return FRAMES_UNKNOWN;
	next = unwind_frame(frame, &m, returned, &to);
	dwarf_frame_info(frame, NULL, NULL, &to.interrupted);
	free(frame);
	if (next == FRAMES_CALLER)
		*f = to;
	return next;
}

bool frames_step(struct image *im, struct frame_state *f, uint64_t to_addr, bool returned,
		 bool (*read)(void *ctx, uint64_t at, uint64_t *v), void *ctx)
{
	return frames_next(im, f, to_addr, returned, read, ctx) == FRAMES_CALLER;
}
