/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_CFG_CODE_PRIV_H
#define ASSAY_CFG_CODE_PRIV_H

#include "cfg/code.h"
#include "isa/insn.h"
#include "isa/lift_memo.h"

/* What is known of a place that is called. */
enum code_fate {
	CODE_FREE, /* the place in the table */
	CODE_NOT_KNOWN,
	CODE_PENDING, /* being looked at */
	CODE_RETURNS,
	CODE_NORETURN,
};

struct code_callee {
	uint64_t addr;
	uint8_t fate; /* enum code_fate */
};

/* A procedure that nothing names, found by what leads to it. */
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
	struct image *im; /* or NULL */
	struct lift_memo *memo;
	struct code_callee *callee; /* hashed by address */
	uint32_t callee_bits, callees;
	uint32_t budget; /* instructions that the question at hand may still look at */
	bool assumed;	 /* its answer rests on one that is pending */
	bool found_ready;
	struct code_found small;  /* the one asked for last */
	struct code_found *found; /* by start */
	size_t nfound;
	struct code_entry *entry; /* by to */
	size_t nentries, entry_cap;
	uint64_t *scanned; /* a bit a piece of each segment: its jumps are among them */
	uint64_t *learnt;  /* places that were called, in no order */
	size_t nlearnt;
};

/* What control flow needs of an instruction. */
struct code_insn {
	uint64_t target; /* direct branches, jumps, calls; else 0 */
	uint8_t len, cls;
	bool falls, ends, nop;
};

/* A place in code to read from: pieces of it are fetched as they are needed. */
struct code_at {
	const uint8_t *p;
	size_t left;
	uint64_t addr; /* of p */
};

/* Decodes the instruction at addr; false: there is none. at: zeroed before its first use. */
bool code_decode(struct cfg_code *c, struct code_at *at, uint64_t addr, struct code_insn *in);
/* The same with all its facts. */
bool code_decode_fully(struct cfg_code *c, uint64_t addr, struct insn *in);

/* Can a call of addr come back? deep: look at the code there, not only at names and what is known. */
bool code_returns(struct cfg_code *c, uint64_t addr, bool deep);
/* True if it may come back a second time (setjmp, vfork). */
bool code_returns_twice(struct cfg_code *c, uint64_t addr);

/* A place that is called, as somebody saw. */
void code_learn(struct cfg_code *c, uint64_t addr);
/* The procedure at addr, of those that nothing names. */
const struct code_found *code_find_unnamed(struct cfg_code *c, uint64_t addr);
/* The jumps from outside into [start, end), as far as they come from near: *n of them, by where they lead. They
 * stay until the next call. */
const struct code_entry *code_entries(struct cfg_code *c, uint64_t start, uint64_t end, size_t *n);
void code_found_fini(struct cfg_code *c);

#endif
