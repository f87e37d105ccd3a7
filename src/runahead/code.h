/* SPDX-License-Identifier: MIT */
/*
 * Lifted code: an arena of micro-ops, and a table of where each instruction begins, shared with the interpreter (in the
 * kernel both are memory-mapped BPF arrays). The interpreter may read at any time, so an instruction is complete before
 * another one leads to it; the interpreter itself only writes links of branches (runahead/state.h).
 *
 *   uop[0]                   never used: index 0 means "not lifted"
 *   uop[i] to uop[i + k - 1] an instruction; those of a straight run are consecutive
 *
 * Code is lifted lazily: the neighbourhood of an address along both ways of branches and into direct calls, breadth
 * first; or a stretch of code from its start to its end.
 */
#ifndef ASSAY_RUNAHEAD_CODE_H
#define ASSAY_RUNAHEAD_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "x86/lift_memo.h"
#include "x86/uop.h"
#include "runahead/state.h"

#define CODE_IMAGES 65535 /* image numbers are 1 to CODE_IMAGES */

/* The source of an image's code. */
struct code_source {
	/* Returns the bytes from addr (ELF virtual address) on, *n of them; NULL if there is no
	 * code. */
	const uint8_t *(*bytes)(void *ctx, uint64_t addr, size_t *n);
	/* Whether a procedure begins at addr (its arguments are recorded there); may be NULL. */
	bool (*entry)(void *ctx, uint64_t addr);
	void *ctx;
};

/* A lifted instruction. */
struct code_site {
	uint64_t addr; /* ELF virtual address */
	uint32_t image;
	uint8_t cls, len; /* enum insn_class; a length of 0: no instruction */
	uint8_t access;	  /* bytes of memory, as in struct insn; 0 where it is no power of two */
};

/*
 * Sites as they are kept, in the order of their micro-ops, which leave no gap:
 *
 *   bits 0-46 address   47-50 class   51-54 length   55-60 number of micro-ops   61-63 access, log2 + 1
 *
 * and for each CODE_MARK micro-ops the site of the first, where that begins, and the image of all of them.
 */
#define CODE_MARK 16 /* micro-ops between two marks; a power of two */
struct code_mark {
	uint32_t site, uop, image;
};

struct code {
	struct uop *uop;
	/* capacity, the part of it that has memory now, and the number in use */
	uint32_t uop_cap, uop_room, nuop;
	struct code_line *line;
	uint32_t line_bits, nline;
	uint64_t *site;
	uint32_t nsite, last_image;
	struct code_mark *mark;
	struct code_source *source; /* sources of code, by number of the image */
	uint32_t nsource;
	struct lift_memo *memo;
	uint64_t *queue; /* scratch memory of code_lift(): addresses still to visit */
	/* windows record where control went, but no values; set before anything is lifted */
	bool branches;
	uint64_t lifted;  /* number of lifted instructions */
	uint64_t refused; /* number of instructions that found no slot */
};

/* Initialises with the caller's memory for uop (at most CODE_UOPS_MAX) and line (zeroed), which
 * stays the caller's; there are 1 << line_bits lines. Only uop_room micro-ops are touched: all,
 * unless the caller lowers it. -1 without memory. */
int code_init(struct code *c, struct uop *uop, uint32_t uop_cap, struct code_line *line,
	      uint32_t line_bits, struct err *err);
void code_fini(struct code *c);

/* Declares an image's code. The number must be new, or its source unchanged. */
int code_image(struct code *c, uint32_t image, const struct code_source *src, struct err *err);

/* Lifts the neighbourhood of addr, at most `budget` instructions. Returns how many were lifted:
 * 0 if all was lifted before, or nothing can be (no code there, no room). */
uint32_t code_lift(struct code *c, uint32_t image, uint64_t addr, uint32_t budget);

/* Lifts what surely runs once control has come to addr: the instructions up to the next conditional branch, return or
 * indirect jump, along jumps and into calls, at most that many. Returns how many were lifted. */
uint32_t code_follow(struct code *c, uint32_t image, uint64_t addr, uint32_t most);

/*
 * Lifts the rest of [start, end), which is code of procedures, instruction by instruction. This
 * finds code that only indirect jumps and returns lead to. At most `budget` instructions; returns
 * how many.
 */
uint32_t code_sweep(struct code *c, uint32_t image, uint64_t start, uint64_t end, uint32_t budget);

/* Removes all code from the table, so that the interpreter finds none any more. It may be running code that it found before. */
void code_hide(struct code *c);
/* Makes the room of hidden code free again, which the interpreter no longer runs. Numbers of micro-ops get new meanings. */
void code_empty(struct code *c);

/* Lifts code that ran before, from addr to where control surely goes elsewhere, as long as half of the room is free. False: it is not. */
bool code_again(struct code *c, uint32_t image, uint64_t addr);

/* False once there is no room for more. */
bool code_has_room(const struct code *c);
/* The first micro-op of the instruction at addr, or 0. */
uint32_t code_find(const struct code *c, uint32_t image, uint64_t addr);
/* Finds the site of a micro-op, as a window's head names it. False if the micro-op belongs to
 * none. */
bool code_site(const struct code *c, uint32_t uop, struct code_site *site);
/* A faster search for sites of consecutive micro-ops, mostly of instructions in their order. */
struct code_cursor {
	/* position after the last site found: number of the site and its first micro-op; 0: none */
	uint32_t site, uop;
};
bool code_site_next(const struct code *c, uint32_t uop, struct code_cursor *at,
		    struct code_site *site);

#endif
