/* SPDX-License-Identifier: MIT */
#include "image/rows.h"

#include <dwarf.h>
#include <string.h>

#include "image/image_priv.h"

#define DWARF_RBX 3
#define DWARF_RBP 6
#define OFFSET_MAX (1 << 30)

/* The encoding of the registers that DWARF numbers. */
static const uint8_t encoded[16] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The place of a value, as far as a rule can tell it. */
struct location {
	enum {
		NOWHERE,
		SAME,
		AT_CFA,
		AT_REG,
		IN_REG,
		OTHER
	} where;
	uint8_t reg;
	int32_t off;
};

static bool is_offset(int64_t off)
{
	return off > -OFFSET_MAX && off < OFFSET_MAX;
}

/* reg + off, in one operation. */
static bool reg_plus(struct dwarf_cursor *c, uint8_t *reg, int32_t *off)
{
	uint64_t number = cursor_take(c, 1) - DW_OP_breg0;
	int64_t plus = cursor_sleb(c);

	if (number > 15 || c->bad || !is_offset(plus))
		return false;
	*reg = encoded[number];
	*off = (int32_t)plus;
	return true;
}

static struct location locate(const struct cfi_frame *frame, int column)
{
	const struct cfi_rule *rule = &frame->rule[column];
	struct location l = { OTHER, 0, 0 };
	struct dwarf_cursor c;

	switch (rule->how) {
	case CFI_UNDEFINED:
		l.where = NOWHERE;
		break;
	case CFI_DEFAULT:
	case CFI_SAME:
		l.where = SAME;
		break;
	case CFI_REGISTER:
		if (rule->reg < 16)
			l = (struct location){ IN_REG, encoded[rule->reg], 0 };
		break;
	case CFI_OFFSET:
		if (is_offset(rule->off))
			l = (struct location){ AT_CFA, 0, (int32_t)rule->off };
		break;
	case CFI_EXPRESSION: /* the CFA, with which an expression begins, is of no use to this one */
		c = (struct dwarf_cursor){ rule->expression, rule->expression + rule->bytes,
					   false };
		if (reg_plus(&c, &l.reg, &l.off) && c.p == c.end)
			l.where = AT_REG;
		break;
	case CFI_VAL_OFFSET:
	case CFI_VAL_EXPRESSION:
		break;
	}
	return l;
}

/* rsp + 8 + ((rip & 15) >= N) * 8: stubs of a linkage table, of which the instructions from byte N on have pushed. */
static bool is_plt(struct dwarf_cursor c, struct unwind_rule *r)
{
	static const uint8_t before[] = { DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint64_t n;

	if (!reg_plus(&c, &r->reg, &r->off) || r->reg != RULE_RSP || c.end - c.p != 9 ||
	    memcmp(c.p, before, 4) != 0 || memcmp(c.p + 5, after, 4) != 0)
		return false;
	n = c.p[4] - (uint64_t)DW_OP_lit0;
	r->plt = (uint8_t)n;
	return n <= 15;
}

static enum rule_kind cfa_of(const struct cfi_frame *frame, struct unwind_rule *r)
{
	struct dwarf_cursor c = frame->expression;

	switch (frame->cfa) {
	case CFI_CFA_OFFSET:
		if (frame->base > 15 || !is_offset(frame->off))
			return RULE_OTHER;
		r->reg = encoded[frame->base];
		r->off = (int32_t)frame->off;
		return RULE_CFA;
	case CFI_CFA_EXPRESSION:
		if (is_plt(c, r)) {
			r->reg = 0;
			return RULE_PLT;
		}
		if (reg_plus(&c, &r->reg, &r->off) && cursor_take(&c, 1) == DW_OP_deref &&
		    c.p == c.end)
			return RULE_DEREF;
		return RULE_OTHER;
	}
	return RULE_OTHER;
}

/* The rules of a signal's frame: the kernel saved all registers of the interrupted thread above the
 * stack pointer. */
static enum rule_kind signal_rule(struct unwind_rule *r, const struct location *bp,
				  const struct location *ra)
{
	if (r->kind != RULE_DEREF || r->reg != RULE_RSP || bp->where != AT_REG ||
	    bp->reg != RULE_RSP || ra->where != AT_REG || ra->reg != RULE_RSP)
		return RULE_OTHER;
	r->bp_off = bp->off;
	r->ra_off = ra->off;
	return RULE_SIGNAL;
}

static enum rule_kind complete(struct unwind_rule *r, const struct location *bp,
			       const struct location *ra)
{
	if (ra->where == NOWHERE)
		return RULE_OUTERMOST;
	if (ra->where == IN_REG && r->kind == RULE_CFA && r->reg == RULE_RSP && bp->where == SAME) {
		r->plt = ra->reg;
		return RULE_REGISTER;
	}
	if (ra->where != AT_CFA || ra->off != -8)
		return RULE_OTHER;
	r->bp_off = bp->off;
	switch (bp->where) {
	case SAME:
	case NOWHERE:
		r->bp = RULE_BP_SAME;
		return r->kind;
	case AT_CFA:
		r->bp = RULE_BP_CFA;
		return r->kind;
	case AT_REG:
		r->bp = RULE_BP_RBP;
		return bp->reg == RULE_RBP ? r->kind : RULE_OTHER;
	default:
		return RULE_OTHER;
	}
}

static int32_t rbx_of(const struct cfi_frame *frame)
{
	struct location bx = locate(frame, DWARF_RBX);

	if (bx.where == SAME || bx.where == NOWHERE)
		return 0;
	return bx.where == AT_CFA ? bx.off : RULE_BX_UNKNOWN;
}

static struct unwind_rule rule_of(const struct cfi_frame *frame)
{
	struct location bp = locate(frame, DWARF_RBP), ra = locate(frame, CFI_RETURN);
	struct unwind_rule r = { .kind = 0 };
	enum rule_kind kind;

	r.kind = (uint8_t)cfa_of(frame, &r);
	kind = frame->signal ? signal_rule(&r, &bp, &ra) : complete(&r, &bp, &ra);
	r.kind = (uint8_t)kind;
	if (!frame->signal)
		r.bx_off = rbx_of(frame);
	if (kind == RULE_OTHER || kind == RULE_OUTERMOST)
		r = (struct unwind_rule){ .kind = (uint8_t)kind };
	return r;
}

void rows_at(struct image *im, uint64_t addr, struct unwind_row *row)
{
	const struct cfi_frame *frame;

	if (gopcln_open(&im->gopcln, &im->file) && gopcln_row(&im->gopcln, addr, row))
		return;
	*row = (struct unwind_row){ .start = addr, .end = addr + 1 };
	frame = cfi_frame(&im->cfi, &im->file, addr);
	if (!frame)
		return;
	row->start = frame->start;
	row->end = frame->end;
	row->rule = rule_of(frame);
}
