/* SPDX-License-Identifier: MIT */
/*
 * The contents of registers along one path through code, as expressions of their contents at its beginning. Equal
 * expressions are one node, so that a bound found at one place holds everywhere.
 *
 * 	EXPR_SUM	c + coef * node + coef * node and so on; without terms a constant
 * 	EXPR_INIT	register `size` at the beginning of the path
 * 	EXPR_LOAD	`size` bytes at the address in node a, memory being in state c; zero-extended
 * 	EXPR_ZEXT	the low `size` bytes of node a; with 8 bytes, a sum that is used as one term
 * 	EXPR_SEXT	the low `size` bytes of node a, sign-extended
 * 	EXPR_AND	a & c
 * 	EXPR_SHR	a >> c
 * 	EXPR_OTHER	an unknown value
 */
#ifndef ASSAY_CFG_EXPR_H
#define ASSAY_CFG_EXPR_H

#include "cfg/code_priv.h"

#define EXPR_NODES 640
#define EXPR_TERMS 3
#define EXPR_STORES 24

enum expr_op {
	EXPR_SUM,
	EXPR_INIT,
	EXPR_LOAD,
	EXPR_ZEXT,
	EXPR_SEXT,
	EXPR_AND,
	EXPR_SHR,
	EXPR_OTHER,
};

struct expr_term {
	uint64_t coef;
	uint32_t node;
};

struct expr {
	uint8_t op; /* enum expr_op */
	uint8_t size, nterms;
	bool bounded; /* a comparison or a mask gave [lo, hi] */
	uint32_t a;
	uint64_t c;
	struct expr_term term[EXPR_TERMS]; /* sorted by node */
	uint64_t lo, hi;		   /* unsigned bounds of the value */
};

enum expr_flags {
	EXPR_FLAGS_OTHER,
	EXPR_FLAGS_COMPARE, /* flags of a - b */
	EXPR_FLAGS_TEST,    /* flags of a & b */
};

struct expr_store {
	uint32_t addr, value;
	uint8_t size;
};

struct expr_path {
	struct cfg_code *code;
	struct expr node[EXPR_NODES];
	uint32_t n;
	uint16_t hash[1024]; /* buckets hold 1 + node */
	uint32_t reg[16];
	uint8_t flags, flags_size; /* enum expr_flags; bytes compared */
	uint32_t flags_a, flags_b;
	struct expr_store store[EXPR_STORES]; /* stores to the stack */
	uint32_t nstores;
	uint64_t memory, stack; /* counters of the states of memory and of the stack */
	uint64_t others;	/* number of EXPR_OTHER nodes, which c tells apart */
	bool full;		/* out of nodes: the results must not be used */
};

/* Begins a path: registers hold their initial values; those in `known` hold constant[]. */
void expr_begin(struct expr_path *p, struct cfg_code *code, uint16_t known,
		const uint64_t *constant);
/* Executes an instruction. */
void expr_step(struct expr_path *p, const struct insn *in);
/* Applies what follows from a conditional branch that was taken, or was not. */
void expr_branch(struct expr_path *p, const struct insn *in, bool taken);
/* Returns the node of the target of the indirect jump. */
uint32_t expr_target(struct expr_path *p, const struct insn *in);
/* Bounds the node's value, unsigned, by everything known of its operands. True if a comparison or a
 * mask bounds it, and not only its size. */
bool expr_range(const struct expr_path *p, uint32_t node, uint64_t *lo, uint64_t *hi);
/* Returns the node as a sum. */
struct expr expr_as_sum(const struct expr_path *p, uint32_t node);

#endif
