/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Walking a call stack by tables of unwind rules, from one frame to its caller's. Compiled for the kernel and, with other
 * reads and look-ups, for user space: tests hold it against libdwfl.
 */
#ifndef ASSAY_SAMPLER_BPF_UNWIND_H
#define ASSAY_SAMPLER_BPF_UNWIND_H

#include "sampler/bpf/unwind_tables.h"

/* Functions that the includer provides. Look-ups return NULL if they find nothing. */

/* 0: it was read. bytes: 8, 16 or UNWIND_CHUNK. */
static __always_inline int unwind_read(struct unwind_walk *w, uint64_t addr, void *to,
				       uint32_t bytes);
/* Sets w->range to the one that holds the address. 0: there is one. Above 0: the process has none; below 0: none is known. */
static __always_inline int unwind_find_range(struct unwind_walk *w, uint64_t addr);
static __always_inline const struct unwind_image *unwind_image_at(uint32_t image);
static __always_inline const uint64_t *unwind_page_at(uint32_t page);
static __always_inline uint32_t unwind_row_at(uint32_t row);
static __always_inline const struct unwind_rule *unwind_rule_at(uint32_t rule);

/*
 * Sets lo to `up` if left <= right, else hi to `down`; both numbers are below 2^63. The code has no branch, because the
 * verifier would follow both ways of it in each round.
 */
static __always_inline void unwind_halve(uint64_t left, uint64_t right, uint32_t *lo, uint32_t up,
					 uint32_t *hi, uint32_t down)
{
	uint32_t mask = (uint32_t)((int64_t)(left - right - 1) >> 63);

	*lo = (up & mask) | (*lo & ~mask);
	*hi = (*hi & mask) | (down & ~mask);
}

/* Returns the number of the rule for an offset in a page: that of the last row that begins at or
 * before it. */
UNWIND_FUNCTION uint32_t unwind_search(uint64_t page, uint32_t off)
{
	uint32_t lo = (uint32_t)page, n = (uint32_t)(page >> 32) & 0xffff;
	uint32_t hi = lo + n;

	for (int i = 0; i < UNWIND_PAGE_BITS + 1; i++) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (hi - lo <= 1)
			break;
		unwind_halve(unwind_row_at(mid) >> UNWIND_RULE_BITS, off, &lo, mid, &hi, mid);
	}
	return unwind_row_at(lo) & ((1u << UNWIND_RULE_BITS) - 1);
}

/* Copies a chunk of the stack that holds the address and mostly what is read after that, too. Non-zero: it cannot be read as a whole. */
static __attribute__((noinline)) int unwind_fill(struct unwind_walk *w, uint64_t addr)
{
	uint64_t from = addr - w->sp < UNWIND_CHUNK / 2 ? w->sp : addr - UNWIND_BELOW;

	from &= ~7ull;
	w->chunk_at = UNWIND_NO_CHUNK;
	if (w->no_chunks || unwind_read(w, from, w->chunk, UNWIND_CHUNK)) {
		w->no_chunks = 1; /* the top of the stack is near */
		return -1;
	}
	w->chunk_at = from;
	return 0;
}

/* Reads one or two words of the stack. 0: they were read. */
static __always_inline int unwind_load(struct unwind_walk *w, uint64_t addr, uint64_t *to,
				       uint32_t words)
{
	uint64_t at = addr - w->chunk_at;

	if (at > UNWIND_CHUNK - 16) {
		if (unwind_fill(w, addr))
			return unwind_read(w, addr, to, words * 8);
		at = addr - w->chunk_at;
	}
	if (at > UNWIND_CHUNK - 16 || at & 7)
		return unwind_read(w, addr, to, words * 8);
	to[0] = w->chunk[at / 8 & (UNWIND_CHUNK / 8 - 1)];
	if (words > 1)
		to[1] = w->chunk[(at / 8 + 1) & (UNWIND_CHUNK / 8 - 1)];
	return 0;
}

/* The number of the rule for an address of an image; UNWIND_RULES: the tables do not have it. */
static __always_inline uint32_t unwind_look_up(uint32_t image, uint64_t addr)
{
	const struct unwind_image *im = unwind_image_at(image);
	uint64_t number, page;
	const uint64_t *at;

	if (!im)
		return UNWIND_RULES;
	number = (addr >> UNWIND_PAGE_BITS) - im->first;
	if (number >= im->pages)
		return UNWIND_RULES;
	at = unwind_page_at(im->page + (uint32_t)number);
	page = at ? *(const volatile uint64_t *)at : 0;
	if (!(page & UNWIND_READY))
		return UNWIND_RULES;
	return unwind_search(page, (uint32_t)addr & (UNWIND_PAGE - 1));
}

/*
 * The rule for a frame; NULL: the tables do not have it. Rules do not change, and the same frames come again and again: those that
 * were looked up last are remembered.
 */
static __always_inline const struct unwind_rule *unwind_rule_for(struct unwind_walk *w,
								 uint64_t frame)
{
	struct unwind_known *k = &w->known[frame * UNWIND_SPREAD >> (64 - UNWIND_KNOWN_BITS)];
	uint32_t rule;

	if (k->frame == ~frame)
		return unwind_rule_at(k->rule);
	rule = unwind_look_up((uint32_t)(frame >> UNWIND_IMAGE_SHIFT),
			      (frame & UNWIND_ADDR) - (frame & UNWIND_CALL ? 1 : 0));
	if (rule >= UNWIND_RULES)
		return NULL;
	k->frame = ~frame;
	k->rule = rule;
	return unwind_rule_at(rule);
}

static __always_inline int unwind_stop(struct unwind_walk *w, enum unwind_end end)
{
	w->end = end;
	return 1;
}

/* Steps to the caller of code without a rule, by the frame pointer. A chain of frame pointers ends with 0. */
static __always_inline int unwind_by_bp(struct unwind_walk *w)
{
	uint64_t pair[2];

	if (!w->bp && w->by_bp)
		return unwind_stop(w, UNWIND_ROOT);
	if (w->bp < w->sp || w->bp & 7 || unwind_load(w, w->bp, pair, 2) || !pair[1])
		return unwind_stop(w, UNWIND_NO_RULE);
	w->sp = w->bp + 16;
	w->bp = pair[0];
	w->pc = pair[1];
	w->returned = w->by_bp = 1;
	return 0;
}

/* Steps to a caller whose frame is on another stack. */
static __always_inline int unwind_switch(struct unwind_walk *w)
{
	uint64_t pair[2];

	if (!w->bp || w->bp & 7 || unwind_load(w, w->bp, pair, 2) || !pair[1])
		return unwind_stop(w, UNWIND_UNREADABLE);
	w->sp = w->bp + 16;
	w->bp = pair[0];
	w->pc = pair[1];
	w->returned = w->by_bp = 1;
	return 0;
}

/* Steps to the code that a signal interrupted. */
static __always_inline int unwind_signal(struct unwind_walk *w, const struct unwind_rule *r)
{
	uint64_t sp, bp, pc;

	if (unwind_load(w, w->sp + r->off, &sp, 1) || unwind_load(w, w->sp + r->bp_off, &bp, 1) ||
	    unwind_load(w, w->sp + r->ra_off, &pc, 1) || !pc)
		return unwind_stop(w, UNWIND_UNREADABLE);
	w->sp = sp;
	w->bp = bp;
	w->pc = pc;
	w->bx_at = UNWIND_NOWHERE;
	w->returned = w->by_bp = 0;
	return 0;
}

/* Steps to the caller of a procedure that keeps its return address in a register. Registers are known of the innermost
 * frame only. */
static __always_inline int unwind_register(struct unwind_walk *w, const struct unwind_rule *r)
{
	uint64_t pc = w->reg[r->plt & 15];

	if (w->out.n != 1 || r->off < 0 || !pc)
		return unwind_stop(w, UNWIND_ODD);
	w->sp += r->off;
	w->pc = pc;
	w->returned = 1;
	w->by_bp = 0;
	return 0;
}

/* Reads the value that rbx had in the frame. 0: it was read. */
static __always_inline int unwind_bx(struct unwind_walk *w, uint64_t *v)
{
	if (w->bx_at)
		return unwind_load(w, w->bx_at, v, 1);
	*v = w->reg[RULE_RBX];
	return 0;
}

/* Returns the canonical frame address (CFA), or 0. */
static __always_inline uint64_t unwind_cfa(struct unwind_walk *w, const struct unwind_rule *r)
{
	uint64_t v;

	if (r->kind == RULE_PLT)
		return w->sp + r->off + ((w->pc & 15) >= r->plt ? 8 : 0);
	if (r->reg == RULE_RSP)
		v = w->sp;
	else if (r->reg == RULE_RBP)
		v = w->bp;
	else if (w->out.n == 1)
		v = w->reg[r->reg & 15];
	else if (r->reg != RULE_RBX || unwind_bx(w, &v))
		return 0;
	v += r->off;
	if (r->kind == RULE_DEREF && unwind_load(w, v, &v, 1))
		return 0;
	return v;
}

static __always_inline int unwind_by_rule(struct unwind_walk *w, const struct unwind_rule *r)
{
	uint64_t cfa = unwind_cfa(w, r), pair[2], at;

	/* the address is one that a program can have, and lies above this frame */
	if (cfa <= w->sp || cfa >> 47)
		return unwind_stop(w, UNWIND_UNREADABLE);
	if (r->bp == RULE_BP_CFA && r->bp_off == -16 && cfa - 16 >= w->sp) {
		if (unwind_load(w, cfa - 16, pair, 2))
			return unwind_stop(w, UNWIND_UNREADABLE);
		w->bp = pair[0];
	} else {
		if (unwind_load(w, cfa - 8, &pair[1], 1))
			return unwind_stop(w, UNWIND_UNREADABLE);
		at = (r->bp == RULE_BP_CFA ? cfa : w->bp) + r->bp_off;
		/* the saved rbp lies below the stack pointer: an epilogue has restored rbp already */
		if (r->bp != RULE_BP_SAME && at >= w->sp && unwind_load(w, at, &w->bp, 1))
			return unwind_stop(w, UNWIND_UNREADABLE);
	}
	if (!pair[1])
		return unwind_stop(w, UNWIND_ROOT);
	if (r->bx_off && cfa + r->bx_off >= w->sp)
		w->bx_at = r->bx_off == RULE_BX_UNKNOWN ? UNWIND_NOWHERE : cfa + r->bx_off;
	w->sp = cfa;
	w->pc = pair[1];
	w->returned = 1;
	w->by_bp = 0;
	return 0;
}

/* Notes the frame that pc is in, and steps to its caller. Non-zero at the end of the walk. */
static __always_inline int unwind_step(struct unwind_walk *w)
{
	uint64_t at = w->pc - w->returned, frame;
	const struct unwind_rule *r;
	int none;

	if (at - w->range.start >= w->range.end - w->range.start) {
		none = unwind_find_range(w, at);
		if (none) /* what a frame pointer led to is no code: it was none */
			return unwind_stop(w,
					   none > 0 && w->by_bp ? UNWIND_NO_RULE : UNWIND_NO_RANGE);
	}
	if (w->out.n >= UNWIND_FRAMES)
		return unwind_stop(w, UNWIND_DEPTH);
	frame = (uint64_t)w->range.image << UNWIND_IMAGE_SHIFT | (w->returned ? UNWIND_CALL : 0) |
		((w->pc - w->range.bias) & UNWIND_ADDR);
	w->out.frame[w->out.n & (UNWIND_FRAMES - 1)] = frame;
	w->out.n++;
	if (!w->range.rules)
		return unwind_by_bp(w);
	r = unwind_rule_for(w, frame);
	if (!r)
		return unwind_stop(w, UNWIND_NO_ROWS);
	switch (r->kind) {
	case RULE_OUTERMOST:
		return unwind_stop(w, UNWIND_ROOT);
	case RULE_NONE:
		return unwind_by_bp(w);
	case RULE_SIGNAL:
		return unwind_signal(w, r);
	case RULE_SWITCH:
		return unwind_switch(w);
	case RULE_REGISTER:
		return unwind_register(w, r);
	case RULE_CFA:
	case RULE_DEREF:
	case RULE_PLT:
		return unwind_by_rule(w, r);
	default:
		return unwind_stop(w, UNWIND_ODD);
	}
}

static __always_inline void unwind_begin(struct unwind_walk *w)
{
	w->end = UNWIND_RUNNING;
	w->out.n = w->returned = w->by_bp = 0;
	w->range.start = w->range.end = 0;
	w->bx_at = 0;
	w->chunk_at = UNWIND_NO_CHUNK;
	w->no_chunks = 0;
	w->sp = w->reg[RULE_RSP];
	w->bp = w->reg[RULE_RBP];
}

#endif
