/* SPDX-License-Identifier: MIT */
/*
 * The control-flow graph of one procedure, and which of its blocks and edges must run equally often
 * (docs/methods/control-flow.md).
 *
 *   block[0]  CFG_ENTRY_BLOCK   virtual: its edges lead to where control enters
 *   block[1]  CFG_EXIT_BLOCK    virtual: everything that leaves the procedure leads to it
 *   block[2], block[3], ...     code, sorted by address
 *
 * Edges are sorted by `from`: those out of block b are edge[b.out] to edge[b.out + b.nout - 1]; those into b have the
 * numbers in[b.in] to in[b.in + b.nin - 1]. Two blocks can have several edges. Every block that the entry reaches
 * reaches the exit; other blocks have CFG_UNREACHED.
 *
 * Blocks end at calls and system calls, too, which lead to the next block by a CFG_AFTER edge unless they do not
 * return. Exceptions and longjmp are left out: a landing pad, or the second return of setjmp, is entered from the
 * entry block (CFG_UNWIND).
 *
 * Blocks may overlap, because hand-written code jumps behind a prefix.
 */
#ifndef ASSAY_CFG_CFG_H
#define ASSAY_CFG_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cfg/code.h"
#include "cfg/seen.h"

#define CFG_ENTRY_BLOCK 0u
#define CFG_EXIT_BLOCK 1u
#define CFG_FIRST_BLOCK 2u
#define CFG_NONE UINT32_MAX

/* How a block ends. */
#define CFG_ENDS(X) \
	X(VIRTUAL, "virtual") /* the virtual entry and exit blocks */ \
	X(NEXT, "next") /* the next block begins here, because control also enters it otherwise */ \
	X(BRANCH, \
	  "branch")	  /* conditional branch; a way out of the procedure is a CFG_TAIL edge */ \
	X(JUMP, "jump")	  /* direct jump within the procedure */ \
	X(TABLE, "table") /* indirect jump, all of whose targets are known */ \
	X(UNKNOWN, "unknown")	/* indirect jump with unknown targets: edges are missing */ \
	X(TAIL, "tail")		/* jump to another procedure, direct or indirect */ \
	X(CALL, "call")		/* direct or indirect call that returns */ \
	X(NORETURN, "noreturn") /* call that does not return */ \
	X(SYSCALL, "syscall") \
	X(RETURN, "return") \
	X(TRAP, "trap")	      /* ud2, hlt, int3 */ \
	X(INVALID, "invalid") /* the bytes that follow are no instruction */
enum cfg_end {
#define X(id, name) CFG_END_##id,
	CFG_ENDS(X)
#undef X
	CFG_END_N,
};
extern const char *const cfg_end_name[CFG_END_N];

#define CFG_EDGES(X) \
	X(ENTER, "enter")   /* from the entry block: the procedure is called */ \
	X(UNWIND, "unwind") /* from the entry block: landing pads, second returns */ \
	X(FOUND, \
	  "found") /* from the entry block: code that ran although no known way leads there */ \
	X(FALL, "fall")	      /* branch not taken, or the next block just begins */ \
	X(TAKEN, "taken")     /* branch taken */ \
	X(JUMP, "jump")	      /* direct jump */ \
	X(CASE, "case")	      /* one target of an indirect jump */ \
	X(AFTER, "after")     /* the call, or system call, returned */ \
	X(RETURN, "return")   /* to the exit block, as all the following kinds */ \
	X(TAIL, "tail")	      /* to another procedure, by a jump or by running into it */ \
	X(STOP, "stop")	      /* calls that do not return, traps */ \
	X(LOST, "lost")	      /* indirect jump to an unknown place */ \
	X(VIRTUAL, "virtual") /* a virtual way out of an endless cycle */
enum cfg_edge_kind {
#define X(id, name) CFG_##id,
	CFG_EDGES(X)
#undef X
	CFG_EDGE_N,
};
extern const char *const cfg_edge_name[CFG_EDGE_N];

struct cfg_insn {
	uint64_t addr;
	uint8_t len, cls; /* enum insn_class */
};

/* Flags of a block. */
enum {
	/* no way from the entry to the block is known; the block has a class of its own */
	CFG_UNREACHED = 1,
	CFG_OVERLAPS = 2, /* shares bytes with another block */
	CFG_SEEN = 4,	  /* an instruction of it is in the recording */
};

struct cfg_block {
	uint64_t start, end;  /* addresses [start, end); equal in virtual blocks */
	uint32_t insn, ninsn; /* its instructions, in cfg.insn, in order of execution */
	uint32_t out, nout;   /* edges out of the block: index into cfg.edge, and number */
	uint32_t in, nin;     /* edges into the block: index into cfg.in, and number */
	uint32_t cls;	      /* frequency-equivalence class */
	uint8_t ends;	      /* enum cfg_end */
	uint8_t flags;
	uint64_t callee; /* CALL, NORETURN, TAIL: the target if direct; else 0 */
};

struct cfg_edge {
	uint32_t from, to; /* block numbers */
	/* frequency-equivalence class; classes of blocks and edges are numbered together */
	uint32_t cls;
	uint8_t kind; /* enum cfg_edge_kind */
};

/* A procedure's code: its own range first, then parts placed elsewhere (NAME.cold). */
struct cfg_part {
	uint64_t start, end;
};

struct cfg {
	struct cfg_part *part;
	uint32_t nparts;
	struct cfg_block *block;
	uint32_t nblocks;
	struct cfg_edge *edge;
	uint32_t nedges;
	uint32_t *in; /* edges sorted by the block they lead to */
	struct cfg_insn *insn;
	uint32_t ninsns;
	uint32_t nclasses; /* class 0 is the entry block's: how often it is called */
	uint32_t nunknown; /* blocks that end in CFG_END_UNKNOWN */
	/* Edges are missing: there are unknown jumps, or code ran that nothing leads to. Each block
	 * and each edge then has a class of its own; only blocks that are divided by a call that
	 * returns share one. */
	bool missing;
};

/*
 * Builds the graph of the procedure that holds addr. seen: what a recording knows of its image, or
 * NULL. Takes time linear in the size of the procedure. -1 with err set: no code there, more than
 * CFG_CODE_MAX bytes, no memory.
 */
#define CFG_CODE_MAX (16u << 20)
int cfg_build(struct cfg *g, struct cfg_code *code, uint64_t addr, const struct cfg_seen *seen,
	      struct err *err);
void cfg_fini(struct cfg *g);

/* The block of the instruction that begins at addr, or CFG_NONE. */
uint32_t cfg_block_at(const struct cfg *g, uint64_t addr);

/* Whether the edge is the one by which a branch is not taken: the first edge of its block, whatever
 * its kind. */
bool cfg_is_untaken(const struct cfg *g, uint32_t edge);
/*
 * Returns how often control passed an edge of a block with instructions, from counts of blocks.
 * left: executions of the last instruction of the edge's source; taken: those of them that went to
 * its target; came: executions of the block that the edge leads to. NAN: the counts do not tell.
 */
double cfg_edge_passed(const struct cfg *g, uint32_t edge, double left, double taken, double came);

#endif
