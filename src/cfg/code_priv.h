/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_CFG_CODE_PRIV_H
#define ASSAY_CFG_CODE_PRIV_H

#include "cfg/code.h"
#include "x86/insn.h"
#include "x86/lift_memo.h"

/* The fate of a call of a place: whether it returns. */
enum code_fate {
	CODE_FREE, /* the slot of the table is free */
	CODE_NOT_KNOWN,
	CODE_PENDING, /* the question is being answered further up */
	CODE_RETURNS,
	CODE_NORETURN,
};

struct code_callee {
	uint64_t addr;
	uint8_t fate; /* enum code_fate */
};

/* A procedure without a name, found by the code that leads to it. */
struct code_found {
	uint64_t start, end;
	char name[24];
};

/* A jump from one procedure into the middle of another. */
struct code_entry {
	uint64_t to, from;
};

struct cfg_code {
	struct cfg_source src;
	struct image *im; /* the image, or NULL */
	struct lift_memo *memo;
	struct code_callee *callee; /* hashed by address */
	uint32_t callee_bits, callees;
	uint32_t budget; /* number of instructions that the current question may still examine */
	bool assumed;	 /* the current answer depends on a pending one */
	bool found_ready;
	struct code_found small;  /* the small procedure that was looked up last */
	struct code_found *found; /* sorted by start */
	size_t nfound;
	struct code_entry *entry; /* sorted by target */
	size_t nentries, entry_cap;
	/* one bit for each piece of each segment, set once the piece's jumps are listed in `entry` */
	uint64_t *scanned;
	uint64_t *learnt; /* addresses of called places, unsorted */
	size_t nlearnt;
};

/* The facts about an instruction that matter for control flow. */
struct code_insn {
	uint64_t target; /* target of a direct branch, jump or call; else 0 */
	uint8_t len, cls;
	bool falls, ends, nop;
};

/* A position for reading code, which is fetched piece by piece. */
struct code_at {
	const uint8_t *p;
	size_t left;
	uint64_t addr; /* address of p */
};

/* Decodes the instruction at addr; false: there is none. `at` is zeroed before its first use. */
bool code_decode(struct cfg_code *c, struct code_at *at, uint64_t addr, struct code_insn *in);
/* Decodes the instruction at addr with all its facts. */
bool code_decode_fully(struct cfg_code *c, uint64_t addr, struct insn *in);

/* Whether a call of addr can return. deep: examine the code there, not only names and known
 * results. */
bool code_returns(struct cfg_code *c, uint64_t addr, bool deep);
/* Whether a call of addr may return a second time (setjmp, vfork). */
bool code_returns_twice(struct cfg_code *c, uint64_t addr);

/* Records a place that is called. */
void code_learn(struct cfg_code *c, uint64_t addr);
/* Finds the procedure at addr among those without a name. */
const struct code_found *code_find_unnamed(struct cfg_code *c, uint64_t addr);
/* Returns the jumps from nearby code outside [start, end) into it: *n of them, sorted by target.
 * They stay valid until the next call. */
const struct code_entry *code_entries(struct cfg_code *c, uint64_t start, uint64_t end, size_t *n);
void code_found_fini(struct cfg_code *c);

#endif
