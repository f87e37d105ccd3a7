/* SPDX-License-Identifier: MIT */
#include "image/rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "image/image_priv.h"

#define RETURN_COLUMN 16
#define DWARF_RBX 3
#define DWARF_RBP 6
#define DWARF_RSP 7
#define OFFSET_MAX (1 << 30)

/* The encoding of the registers that DWARF numbers. */
static const uint8_t encoded[16] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The place of a value, as far as two operations can tell it. */
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
static bool reg_plus(const Dwarf_Op *op, uint8_t *reg, int32_t *off)
{
	bool any = op->atom == DW_OP_bregx; /* libdw's own way to write CFAs */
	uint64_t number = any ? op->number : op->atom - (uint64_t)DW_OP_breg0;
	int64_t plus = (int64_t)(any ? op->number2 : op->number);

	if (number > 15 || !is_offset(plus))
		return false;
	*reg = encoded[number];
	*off = (int32_t)plus;
	return true;
}

static struct location locate(Dwarf_Frame *frame, int column)
{
	struct location l = { OTHER, 0, 0 };
	Dwarf_Op mem[3], *op;
	size_t n;

	if (dwarf_frame_register(frame, column, mem, &op, &n))
		return l;
	if (!n)
		l.where = op ? NOWHERE : SAME;
	else if (n == 1 && op[0].atom == DW_OP_regx && op[0].number < 16)
		l = (struct location){ IN_REG, encoded[op[0].number], 0 };
	else if (n == 1 && op[0].atom == DW_OP_call_frame_cfa)
		l.where = AT_CFA;
	else if (n == 2 && op[0].atom == DW_OP_call_frame_cfa && op[1].atom == DW_OP_plus_uconst &&
		 is_offset((int64_t)op[1].number))
		l = (struct location){ AT_CFA, 0, (int32_t)(int64_t)op[1].number };
	else if (n == 2 && op[0].atom == DW_OP_call_frame_cfa && reg_plus(&op[1], &l.reg, &l.off))
		l.where =
			AT_REG; /* an expression begins with the CFA, which is of no use to this one */
	return l;
}

/* rsp + 8 + ((rip & 15) >= N) * 8: stubs of a linkage table, of which the instructions from byte N on have pushed. */
static bool is_plt(const Dwarf_Op *op, size_t n, struct unwind_rule *r)
{
	if (n != 8 || op[0].atom != DW_OP_breg7 || !is_offset((int64_t)op[0].number) ||
	    op[1].atom != DW_OP_breg16 || op[1].number || op[2].atom != DW_OP_lit15 ||
	    op[3].atom != DW_OP_and || op[4].atom < DW_OP_lit0 || op[4].atom > DW_OP_lit15 ||
	    op[5].atom != DW_OP_ge || op[6].atom != DW_OP_lit3 || op[7].atom != DW_OP_shl)
		return false;
	r->off = (int32_t)(int64_t)op[0].number;
	r->plt = (uint8_t)(op[4].atom - DW_OP_lit0);
	return true;
}

static enum rule_kind cfa_of(Dwarf_Frame *frame, struct unwind_rule *r)
{
	Dwarf_Op *op;
	size_t n;

	if (dwarf_frame_cfa(frame, &op, &n) || !n)
		return RULE_OTHER;
	if (n == 1 && reg_plus(&op[0], &r->reg, &r->off))
		return RULE_CFA;
	if (n == 2 && op[1].atom == DW_OP_deref && reg_plus(&op[0], &r->reg, &r->off))
		return RULE_DEREF;
	if (n == 9 && op[8].atom == DW_OP_plus && is_plt(op, 8, r))
		return RULE_PLT;
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

static int32_t rbx_of(Dwarf_Frame *frame)
{
	struct location bx = locate(frame, DWARF_RBX);

	if (bx.where == SAME || bx.where == NOWHERE)
		return 0;
	return bx.where == AT_CFA ? bx.off : RULE_BX_UNKNOWN;
}

static struct unwind_rule rule_of(Dwarf_Frame *frame, bool signal)
{
	struct location bp = locate(frame, DWARF_RBP), ra = locate(frame, RETURN_COLUMN);
	struct unwind_rule r = { .kind = 0 };
	enum rule_kind kind;

	r.kind = (uint8_t)cfa_of(frame, &r);
	kind = signal ? signal_rule(&r, &bp, &ra) : complete(&r, &bp, &ra);
	r.kind = (uint8_t)kind;
	if (!signal)
		r.bx_off = rbx_of(frame);
	if (kind == RULE_OTHER || kind == RULE_OUTERMOST)
		r = (struct unwind_rule){ .kind = (uint8_t)kind };
	return r;
}

void rows_at(struct image *im, uint64_t addr, struct unwind_row *row)
{
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	bool signal = false;

	if (gopcln_open(&im->gopcln, &im->file) && gopcln_row(&im->gopcln, addr, row))
		return;
	*row = (struct unwind_row){ .start = addr, .end = addr + 1 };
	frame = cfi_frame(&im->cfi, &im->file, addr);
	if (!frame)
		return;
	if (dwarf_frame_info(frame, &start, &end, &signal) >= 0 && start <= addr && addr < end) {
		row->start = start;
		row->end = end;
		row->rule = rule_of(frame, signal);
	}
	free(frame);
}
