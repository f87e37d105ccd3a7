/* SPDX-License-Identifier: MIT */
#include "image/frames.h"

#include <dwarf.h>

#include "image/image_priv.h"

#define DEPTH 32
#define OPS_MAX 64 /* of one expression */

/* DWARF's register numbers, by encoding order. */
static const uint8_t encoded[16] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };

struct machine {
	const struct frame_state *f;
	uint64_t cfa, pc;
	bool (*read)(void *ctx, uint64_t at, uint64_t *v);
	void *ctx;
	uint64_t stack[DEPTH];
	unsigned n;
};

/* What a rule gives. */
struct place {
	uint64_t v;
	bool is_value; /* else the value's address */
};

static bool push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH)
		return false;
	m->stack[m->n++] = v;
	return true;
}

static bool value_of(const struct machine *m, uint64_t number, uint64_t *v)
{
	if (number > CFI_RETURN)
		return false;
	*v = number == CFI_RETURN ? m->pc : m->f->reg[encoded[number]];
	return true;
}

static bool push_register(struct machine *m, uint64_t number, int64_t add)
{
	uint64_t v;

	return value_of(m, number, &v) && push(m, v + (uint64_t)add);
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

/* A constant's value. False: the operation gives none. */
static bool constant(struct dwarf_cursor *c, uint8_t op, uint64_t *v)
{
	switch (op) {
	case DW_OP_const1u:
		*v = cursor_take(c, 1);
		return true;
	case DW_OP_const1s:
		*v = (uint64_t)(int64_t)(int8_t)cursor_take(c, 1);
		return true;
	case DW_OP_const2u:
		*v = cursor_take(c, 2);
		return true;
	case DW_OP_const2s:
		*v = (uint64_t)(int64_t)(int16_t)cursor_take(c, 2);
		return true;
	case DW_OP_const4u:
		*v = cursor_take(c, 4);
		return true;
	case DW_OP_const4s:
		*v = (uint64_t)(int64_t)(int32_t)cursor_take(c, 4);
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		*v = cursor_take(c, 8);
		return true;
	case DW_OP_constu:
		*v = cursor_uleb(c);
		return true;
	case DW_OP_consts:
		*v = (uint64_t)cursor_sleb(c);
		return true;
	default:
		*v = op - (uint64_t)DW_OP_lit0;
		return op >= DW_OP_lit0 && op <= DW_OP_lit31;
	}
}

static bool step(struct machine *m, struct dwarf_cursor *c)
{
	uint8_t op = (uint8_t)cursor_take(c, 1);
	uint64_t v;

	if (constant(c, op, &v))
		return push(m, v);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return push_register(m, op - (uint64_t)DW_OP_breg0, cursor_sleb(c));
	switch (op) {
	case DW_OP_bregx:
		v = cursor_uleb(c);
		return push_register(m, v, cursor_sleb(c));
	case DW_OP_plus_uconst:
		return m->n && (m->stack[m->n - 1] += cursor_uleb(c), true);
	case DW_OP_deref:
		return m->n && m->read(m->ctx, m->stack[m->n - 1], &m->stack[m->n - 1]);
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
	case DW_OP_shl:
	case DW_OP_ge:
		return binary(m, op);
	default:
		return false;
	}
}

/* The value of an expression. The machine's stack may have operands already. */
static bool evaluate(struct machine *m, struct dwarf_cursor c, uint64_t *v)
{
	for (unsigned i = 0; c.p < c.end; i++)
		if (i == OPS_MAX || !step(m, &c) || c.bad)
			return false;
	if (!m->n)
		return false;
	*v = m->stack[m->n - 1];
	return true;
}

static bool find_cfa(struct machine *m, const struct cfi_frame *frame)
{
	if (frame->cfa == CFI_CFA_EXPRESSION) {
		m->n = 0;
		return evaluate(m, frame->expression, &m->cfa);
	}
	if (!value_of(m, frame->base, &m->cfa))
		return false;
	m->cfa += (uint64_t)frame->off;
	return true;
}

/* Where the value of a rule that is given is. */
static bool find_place(struct machine *m, const struct cfi_rule *rule, struct place *at)
{
	switch (rule->how) {
	case CFI_OFFSET:
	case CFI_VAL_OFFSET:
		*at = (struct place){ m->cfa + (uint64_t)rule->off, rule->how == CFI_VAL_OFFSET };
		return true;
	case CFI_REGISTER:
		at->is_value = true;
		return value_of(m, rule->reg, &at->v);
	default:
		m->n = 0;
		at->is_value = rule->how == CFI_VAL_EXPRESSION;
		return push(m, m->cfa) &&
		       evaluate(m,
				(struct dwarf_cursor){ rule->expression,
						       rule->expression + rule->bytes, false },
				&at->v);
	}
}

/* Finds the caller's value of a register, which keeps its value where no rule is given. */
static bool find_value(struct machine *m, const struct cfi_frame *frame, int column, uint64_t *v)
{
	const struct cfi_rule *rule = &frame->rule[column];
	struct place at;

	if (rule->how == CFI_DEFAULT || rule->how == CFI_UNDEFINED || rule->how == CFI_SAME)
		return true;
	if (!find_place(m, rule, &at))
		return false;
	if (at.is_value) {
		*v = at.v;
		return true;
	}
	/* below the stack pointer: an epilogue has restored the register already */
	if (column != CFI_RETURN && at.v < m->f->reg[4])
		return true;
	return m->read(m->ctx, at.v, v);
}

static enum frames_next unwind_frame(const struct cfi_frame *frame, struct machine *m,
				     bool returned, struct frame_state *to)
{
	enum cfi_how back = frame->rule[CFI_RETURN].how;

	if (!find_cfa(m, frame))
		return FRAMES_UNREADABLE;
	*to = *m->f;
	to->interrupted = frame->signal;
	for (int i = 0; i < CFI_RETURN; i++)
		if (!find_value(m, frame, i, &to->reg[encoded[i]]))
			return FRAMES_UNREADABLE;
	if (back == CFI_DEFAULT || back == CFI_UNDEFINED || back == CFI_SAME)
		return FRAMES_OUTERMOST;
	if (!find_value(m, frame, CFI_RETURN, &to->pc))
		return FRAMES_UNREADABLE;
	to->reg[4] = m->cfa;
	if (!to->pc)
		return FRAMES_OUTERMOST;
	/* vfork takes its return address from the stack, and the register that holds it is known for the innermost
	 * frame only */
	if (back == CFI_REGISTER && !returned)
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
	const struct cfi_frame *frame;
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
	if (next == FRAMES_CALLER)
		*f = to;
	return next;
}

bool frames_step(struct image *im, struct frame_state *f, uint64_t to_addr, bool returned,
		 bool (*read)(void *ctx, uint64_t at, uint64_t *v), void *ctx)
{
	return frames_next(im, f, to_addr, returned, read, ctx) == FRAMES_CALLER;
}
