/* SPDX-License-Identifier: MIT */
/* Streams of values, on their way from executions of blocks to hot lists: what the parts share. */
#ifndef ASSAY_EXACT_STREAMS_PRIV_H
#define ASSAY_EXACT_STREAMS_PRIV_H

#include "exact/exact_priv.h"

/* A column of a block's words: one word of each execution, narrowed. Fields that differ by a
 * constant share a column. */
struct column {
	struct hot *hot; /* NULL before the first value */
	uint16_t word;
	uint8_t from; /* bits that the word is narrowed to, or EXACT_HIGH */
};

#define FIELD_CONSTANT 0xffff /* value of field.column for a constant */
struct field {
	uint64_t add;
	uint64_t times; /* how often the constant was observed */
	uint16_t column;
	uint8_t insn, operand, to;
};

/* values.c */
#define VALUES_BATCH 256 /* most executions that are taken together */
/* Adds the words of n complete executions of a block to the hot lists of its columns; the arguments of
 * indirect calls to those of the procedures that are called. -1 without memory. */
int values_take(struct exact *e, const struct process *p, struct code_block *b,
		const uint64_t *words, unsigned n);
/* Adds the n words of an execution that ended after `done` instructions to the profile. -1 without memory. */
int values_take_cut(struct exact *e, struct code_block *b, const uint64_t *words, unsigned n,
		    unsigned done);
/* Adds what the block's columns and constants have seen to the profile, and empties them. -1 without memory. */
int values_finish(struct exact *e, struct code_block *b);

#endif
