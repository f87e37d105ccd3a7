/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a procedure, in the order in which control reaches them, and the links
 * between them, from which a graph is made. An instruction is identified by its number in that
 * order.
 */
#ifndef ASSAY_CFG_WALK_H
#define ASSAY_CFG_WALK_H

#include "cfg/cfg.h"
#include "cfg/code_priv.h"

#define WALK_PARTS 8

struct walk_insn {
	uint64_t addr;
	uint64_t target; /* target of a direct branch, jump or call */
	/*
	 * numbers of the following instruction, if control goes on there, and of the one at target
	 */
	uint32_t next, to;
	uint32_t into;	 /* the first link into it; CFG_NONE: none */
	uint32_t jump;	 /* number of the jump, if it is an indirect one */
	uint16_t writes; /* general registers written, computed on demand (walk_writes) */
	uint8_t len, cls;
	bool nop;
	bool root;     /* control comes from outside */
	bool noreturn; /* a call that does not return */
	bool swept;    /* found by the sweep of remaining code: nothing known leads there */
	bool writes_known;
};

/* A link into an instruction. */
struct walk_link {
	uint32_t from, more; /* more: the next link into the same instruction; CFG_NONE: none */
};

enum walk_fate {
	WALK_UNKNOWN,
	WALK_TABLE,
	WALK_TAIL,
};

/* An indirect jump. */
struct walk_jump {
	uint32_t insn;
	uint8_t fate; /* enum walk_fate */
	bool by_word; /* the target is a word of the GOT: there is nothing to resolve */
	bool outside; /* some targets are in other procedures */
	uint64_t *to; /* targets in this procedure, ascending */
	uint32_t n, cap;
};

struct walk_root {
	uint64_t addr;
	uint8_t kind; /* enum cfg_edge_kind: CFG_ENTER, CFG_UNWIND, CFG_FOUND */
};

struct walk_part {
	uint64_t start, end;
	uint32_t *insn; /* by byte: 1 + the number of the instruction that begins there */
};

struct walk {
	struct cfg_code *code;
	struct cfg_proc proc;
	struct walk_part part[WALK_PARTS];
	uint32_t nparts;
	struct walk_insn *insn;
	uint32_t n, cap;
	struct walk_link *link;
	uint32_t nlinks, link_cap;
	struct walk_jump *jump;
	uint32_t njumps, jump_cap;
	struct walk_root *root;
	uint32_t nroots, root_cap;
	uint32_t *todo; /* instructions whose targets are still to be followed */
	uint32_t ntodo, todo_cap;
	struct code_at at;
	bool failed; /* memory ran out, and nothing more is added */
};

bool walk_init(struct walk *w, struct cfg_code *code, const struct cfg_proc *proc);
void walk_fini(struct walk *w);

/* Records that control enters at addr, and follows it. */
void walk_enter(struct walk *w, uint64_t addr, int kind);
/* Records that the jump goes to addr, too, and follows it there. False: the target was known, or is
 * not in this procedure. */
bool walk_add_case(struct walk *w, uint32_t jump, uint64_t addr);
/* Makes the code at addr, outside the procedure, a part of the procedure if it is known to belong
 * there. */
bool walk_adopt(struct walk *w, uint64_t addr);
/* Removes the links behind calls that do not return. */
void walk_prune(struct walk *w);
/* Adds the code that control was not seen to reach. */
void walk_sweep(struct walk *w);

/* The part that holds addr, or NULL. */
const struct walk_part *walk_part_at(const struct walk *w, uint64_t addr);
/* The instruction that begins at addr, or CFG_NONE. */
uint32_t walk_at(const struct walk *w, uint64_t addr);
/* True if addr lies within an instruction and begins none. */
bool walk_is_inside(const struct walk *w, uint64_t addr);
/* Whether control goes from `from` along a link to `to`; not if `from` is a call that does not
 * return. */
static inline bool walk_is_live(const struct walk *w, uint32_t from, uint32_t to)
{
	const struct walk_insn *x = &w->insn[from];

	return !(x->noreturn && x->next == to);
}
/* The only instruction that leads to insn; CFG_NONE if there are several or none. */
uint32_t walk_single(const struct walk *w, uint32_t insn);
uint16_t walk_writes(struct walk *w, uint32_t insn);

#endif
