/* SPDX-License-Identifier: MIT */
/*
 * Turns streams into hot lists. A block's record tells which words of its executions are observed, as
 * fields that share columns (fields.c). Executions come in the order of the program (streams.c); each
 * goes to its block's sink (sinks.c). A full sink is processed column by column, so that little work
 * is done for each value. At the end a column's hot list is copied to each field that shares the
 * column (values.c).
 */
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

/*
 * Executions of a block that wait until there are enough to process them together: their words, one
 * execution after the other. The structure is small, because each block has one and they are
 * accessed in any order.
 */
struct sink {
	uint64_t *at; /* where the next execution's words go */
	uint32_t
		/* the only head in the stream whose executions the sink takes; 0: there is no room
		 * yet */
		head;
	uint32_t
		/* the lower half of the address where the room ends: all rooms lie in one part
		 * of memory */
		end;
};
struct sink_room { /* memory for sinks */
	uint64_t *start;
	uint16_t words;
	uint8_t size; /* number of its size; 0: none */
	uint8_t emptied;
};

struct sink_free { /* a free sink */
	struct sink_free *next;
};

/* sinks.c */
#define SINKS_SPARE 8 /* words beyond a sink's end that a copy may write to */
/* Returns the lower half of an address: sinks end where the lower half of their `at` is `end`. */
static inline uint32_t sinks_low(const uint64_t *at)
{
	return (uint32_t)(uintptr_t)at;
}
/* Adds what waits in the block's sink to its columns, and empties the sink. -1 without memory. */
int sinks_empty(struct exact *e, struct process *p, uint32_t block);
/* Makes room in the block's sink by emptying it; more room than before if it is emptied often. -1 without memory. */
int sinks_make_room(struct exact *e, struct process *p, uint32_t block);
/* Takes the room from the block's sink, and keeps it for other blocks with as many words. */
void sinks_drop(struct exact *e, struct process *p, uint32_t block);
void sinks_free(struct exact *e, struct process *p);

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
