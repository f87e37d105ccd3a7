/* SPDX-License-Identifier: MIT */
#include "image/cfi.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "image/starts.h"

#define STATES_MAX 8 /* remembered at once; compilers write one or two */

struct cfi_place {
	uint64_t start;
	uint64_t offset; /* of the FDE */
};

/* The execution of a CIE's and an FDE's instructions up to some address. What comes behind goes on from there. */
struct cfi_run {
	const struct cfi_section *in; /* NULL: nothing has been executed */
	struct cie cie;
	struct fde fde;
	struct dwarf_cursor code; /* what is still to be executed */
	struct cfi_frame frame;
	struct cfi_frame initial; /* after the CIE's instructions */
	bool common;		  /* the CIE's run */
	struct cfi_frame saved[STATES_MAX];
	unsigned states;
	uint64_t addr; /* the address that is looked for */
	bool reached;
};

static int64_t times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static bool set_rule(struct cfi_run *s, uint64_t reg, struct cfi_rule rule)
{
	if (reg < CFI_REGISTERS)
		s->frame.rule[reg] = rule;
	return true;
}

static bool set_offset(struct cfi_run *s, uint64_t reg, enum cfi_how how, int64_t factored)
{
	return set_rule(s, reg,
			(struct cfi_rule){ .how = how, .off = times(factored, s->cie.data_align) });
}

static bool restore(struct cfi_run *s, uint64_t reg)
{
	if (s->common)
		return false;
	return set_rule(s, reg,
			reg < CFI_REGISTERS ? s->initial.rule[reg] : (struct cfi_rule){ 0 });
}

static bool set_cfa(struct cfi_run *s, uint64_t base, int64_t off)
{
	s->frame.cfa = CFI_CFA_OFFSET;
	s->frame.base = base;
	s->frame.off = off;
	return true;
}

/* Goes on to the code at `to`; s->reached: what was said until now is what is looked for. */
static bool advance(struct cfi_run *s, uint64_t to)
{
	if (to <= s->addr)
		s->frame.start = to;
	else
		s->frame.end = to < s->fde.end ? to : s->fde.end;
	s->reached = to > s->addr;
	return true;
}

static bool advance_by(struct cfi_run *s, uint64_t factored)
{
	return advance(s, s->frame.start + factored * s->cie.code_align);
}

/* The bytes of an expression, with their number before them. */
static struct dwarf_cursor take_block(struct dwarf_cursor *c)
{
	uint64_t n = cursor_uleb(c);
	struct dwarf_cursor block = { c->p, c->p, false };

	if (c->bad || n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return block;
	}
	c->p += n;
	block.end = c->p;
	return block;
}

static bool set_expression(struct cfi_run *s, uint64_t reg, enum cfi_how how)
{
	struct dwarf_cursor block = take_block(&s->code);

	return set_rule(s, reg,
			(struct cfi_rule){ .how = how,
					   .bytes = (uint32_t)(block.end - block.p),
					   .expression = block.p });
}

static bool remember(struct cfi_run *s)
{
	if (s->states == STATES_MAX)
		return false;
	s->saved[s->states++] = s->frame;
	return true;
}

/* The code that the rules are for is no part of what is remembered. */
static bool recall(struct cfi_run *s)
{
	uint64_t start = s->frame.start, end = s->frame.end;

	if (!s->states)
		return false;
	s->frame = s->saved[--s->states];
	s->frame.start = start;
	s->frame.end = end;
	return true;
}

/* Instructions whose first operand is a register. */
static bool rule_step(struct cfi_run *s, uint8_t op)
{
	struct dwarf_cursor *c = &s->code;
	uint64_t reg = cursor_uleb(c);

	switch (op) {
	case DW_CFA_offset_extended:
		return set_offset(s, reg, CFI_OFFSET, (int64_t)cursor_uleb(c));
	case DW_CFA_offset_extended_sf:
		return set_offset(s, reg, CFI_OFFSET, cursor_sleb(c));
	case DW_CFA_GNU_negative_offset_extended:
		return set_offset(s, reg, CFI_OFFSET, times(-1, (int64_t)cursor_uleb(c)));
	case DW_CFA_val_offset:
		return set_offset(s, reg, CFI_VAL_OFFSET, (int64_t)cursor_uleb(c));
	case DW_CFA_val_offset_sf:
		return set_offset(s, reg, CFI_VAL_OFFSET, cursor_sleb(c));
	case DW_CFA_restore_extended:
		return restore(s, reg);
	case DW_CFA_undefined:
		return set_rule(s, reg, (struct cfi_rule){ .how = CFI_UNDEFINED });
	case DW_CFA_same_value:
		return set_rule(s, reg, (struct cfi_rule){ .how = CFI_SAME });
	case DW_CFA_register:
		return set_rule(s, reg,
				(struct cfi_rule){ .how = CFI_REGISTER, .reg = cursor_uleb(c) });
	case DW_CFA_expression:
		return set_expression(s, reg, CFI_EXPRESSION);
	case DW_CFA_val_expression:
		return set_expression(s, reg, CFI_VAL_EXPRESSION);
	default:
		return false;
	}
}

/* Instructions that change how the CFA is found. Behind an expression, a register alone goes with the last offset before it. */
static bool cfa_step(struct cfi_run *s, uint8_t op)
{
	struct dwarf_cursor *c = &s->code;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cursor_uleb(c);
		return set_cfa(s, reg, (int64_t)cursor_uleb(c));
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(c);
		return set_cfa(s, reg, times(cursor_sleb(c), s->cie.data_align));
	case DW_CFA_def_cfa_register:
		return set_cfa(s, cursor_uleb(c), s->frame.off);
	case DW_CFA_def_cfa_offset:
		s->frame.off = (int64_t)cursor_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		s->frame.off = times(cursor_sleb(c), s->cie.data_align);
		return true;
	default: /* DW_CFA_def_cfa_expression */
		s->frame.cfa = CFI_CFA_EXPRESSION;
		s->frame.expression = take_block(c);
		return true;
	}
}

static bool step(struct cfi_run *s)
{
	struct dwarf_cursor *c = &s->code;
	uint8_t op = (uint8_t)cursor_take(c, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance_by(s, low);
	case DW_CFA_offset:
		return set_offset(s, low, CFI_OFFSET, (int64_t)cursor_uleb(c));
	case DW_CFA_restore:
		return restore(s, low);
	}
	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		return advance(s, entries_address(&s->in->entries, c, s->cie.addr));
	case DW_CFA_advance_loc1:
		return advance_by(s, cursor_take(c, 1));
	case DW_CFA_advance_loc2:
		return advance_by(s, cursor_take(c, 2));
	case DW_CFA_advance_loc4:
		return advance_by(s, cursor_take(c, 4));
	case DW_CFA_remember_state:
		return remember(s);
	case DW_CFA_restore_state:
		return recall(s);
	case DW_CFA_GNU_args_size:
		cursor_uleb(c);
		return true;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return cfa_step(s, op);
	default:
		return rule_step(s, op);
	}
}

static bool execute(struct cfi_run *s)
{
	while (s->code.p < s->code.end && !s->reached)
		if (!step(s) || s->code.bad)
			return false;
	return true;
}

/* Runs the CIE's instructions of the FDE in place i. An FDE ends where the next one begins. */
static bool begin(struct cfi_run *s, const struct cfi_section *in, size_t i, uint64_t addr)
{
	struct entries_walk walk = { .at = in->place[i].offset };

	s->in = NULL;
	if (!entries_next(&in->entries, &walk, &s->fde))
		return false;
	if (i + 1 < in->n && s->fde.end > in->place[i + 1].start)
		s->fde.end = in->place[i + 1].start;
	if (s->fde.start > addr || addr >= s->fde.end || !walk.cie.runnable || s->fde.code.bad)
		return false;
	s->in = in;
	s->cie = walk.cie;
	s->code = walk.cie.code;
	s->frame = (struct cfi_frame){ .start = s->fde.start,
				       .end = s->fde.end,
				       .signal = s->cie.signal };
	s->states = 0;
	s->addr = addr;
	s->reached = false;
	s->common = true;
	if (!execute(s) || s->reached)
		return false;
	s->common = false;
	s->states = 0;
	s->frame.start = s->fde.start;
	s->initial = s->frame;
	s->code = s->fde.code;
	return true;
}

/* Whether the address is that of the last frame or behind it. */
static bool goes_on(const struct cfi_run *s, uint64_t addr)
{
	return s && s->in && s->frame.start <= addr && addr < s->fde.end;
}

/* Goes on up to the address. False: the instructions make no sense. */
static bool go_on(struct cfi_run *s, uint64_t addr)
{
	s->addr = addr;
	while (s->frame.end <= addr) {
		s->reached = false;
		s->frame.start = s->frame.end;
		s->frame.end = s->fde.end;
		if (!execute(s)) {
			s->in = NULL;
			return false;
		}
	}
	return true;
}

/* Finds where the FDEs are. Without memory some are missing. */
static void list(struct cfi_section *s)
{
	struct entries_walk walk = { 0 };
	struct fde fde;

	while (entries_next(&s->entries, &walk, &fde)) {
		if (fde.start >= fde.end)
			continue;
		if (!array_reserve(s->place, s->cap, s->n + 1))
			break;
		s->place[s->n++] = (struct cfi_place){ fde.start, fde.offset };
	}
	starts_order(s->place, s->n, sizeof(*s->place));
}

static bool find(struct cfi_run *run, struct cfi_section *s, const struct elf_file *f,
		 bool (*load)(struct entries *e, const struct elf_file *f), uint64_t addr)
{
	size_t after;

	if (!s->tried && load(&s->entries, f))
		list(s);
	s->tried = true;
	after = search_first(i, 0, s->n, s->place[i].start > addr);
	if (after && begin(run, s, after - 1, addr) && execute(run))
		return true;
	run->in = NULL;
	return false;
}

const struct cfi_frame *cfi_frame(struct cfi *c, const struct elf_file *f, uint64_t addr)
{
	if (goes_on(c->run, addr) && go_on(c->run, addr))
		return &c->run->frame;
	if (!c->run)
		c->run = calloc(1, sizeof(*c->run));
	if (!c->run || (!find(c->run, &c->eh, f, entries_load, addr) &&
			!find(c->run, &c->debug, f, entries_load_debug, addr)))
		return NULL;
	return &c->run->frame;
}

static size_t section_bytes(const struct cfi_section *s)
{
	return s->entries.size + s->cap * sizeof(*s->place);
}

size_t cfi_bytes(const struct cfi *c)
{
	return section_bytes(&c->eh) + section_bytes(&c->debug) + (c->run ? sizeof(*c->run) : 0);
}

static void fini(struct cfi_section *s)
{
	entries_fini(&s->entries);
	free(s->place);
	*s = (struct cfi_section){ 0 };
}

void cfi_fini(struct cfi *c)
{
	fini(&c->eh);
	fini(&c->debug);
	free(c->run);
	c->run = NULL;
}
