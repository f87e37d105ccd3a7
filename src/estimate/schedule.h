/* SPDX-License-Identifier: MIT */
/*
 * The static schedule (seed 003, section 6.1): the least time that each instruction of a basic block spends
 * at the head of the retire queue, without dynamic stalls.
 *
 * The unit is a core cycle. Several instructions retire in one, so that most have a part of it, or none:
 * the time of a group that retires together is its first instruction's. A block is taken as if it ran again
 * and again: neighbouring blocks overlap in an out-of-order core, and what a pipeline takes to fill is never
 * seen. Of a block that is a loop this is exact. Of another one an execution waits for what the one before it computed
 * only in registers that no block sets in between; all else it finds there has been set long ago.
 *
 * Two models: llvm-mca's of the CPU that recorded, and a coarse table by kind of instruction.
 */
#ifndef ASSAY_ESTIMATE_SCHEDULE_H
#define ASSAY_ESTIMATE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum schedule_why {
	SCHEDULE_NONE,	     /* retires as fast as it can */
	SCHEDULE_DEPENDENCE, /* waits for what `cause` computes */
	SCHEDULE_UNIT,	     /* waits for a unit that `cause` uses */
	SCHEDULE_LATENCY,    /* takes long by itself */
};

struct schedule_insn {
	float least;   /* M: cycles at the head of the retire queue; 0: no issue point */
	int32_t cause; /* the instruction at fault, by its place in the block, or -1; its own or a
			  later one: that of the execution before */
	uint8_t why;   /* enum schedule_why */
};

struct schedule_block {
	const uint8_t *code; /* `size` bytes: `n` instructions */
	size_t size;
	uint64_t addr;
	unsigned n;
	struct schedule_insn *insn; /* n, of the caller: filled in */
	uint16_t carried; /* general registers (enum uop_reg), a bit each, that it finds as its last
			     execution left them; SCHEDULE_LOOP: it leads to itself */
	bool cold;	  /* not worth llvm-mca's time: by the table */
	bool modelled;	  /* by llvm-mca; else by the table */
	bool known;	  /* private: not to be asked for */
};

#define SCHEDULE_LOOP 0xffff
#define SCHEDULE_BLOCK_MAX 256 /* instructions; longer ones are scheduled in pieces */

struct schedule_options {
	const char *cpu;	    /* the recording's: "AMD EPYC 9654" */
	bool table;		    /* the table alone */
	const char *program;	    /* llvm-mca; NULL: one that is installed */
	unsigned timeout_ms;	    /* of one process; 0: a minute */
	struct schedule_memo *memo; /* or NULL: looked into first, added to */
};

/*
 * Schedules all blocks: with llvm-mca, and by the table what that cannot do. 0, or 1 with err set: llvm-mca
 * could not be used for all, the rest is by the table. -1 with err set: no memory.
 */
int schedule_blocks(struct schedule_block *v, size_t n, const struct schedule_options *o,
		    struct err *err);

/* llvm-mca's name (-mcpu) for a CPU as /proc/cpuinfo names it. Unknown ones have their maker's: znver4,
 * skylake-avx512. */
const char *schedule_model(const char *cpu);
/* The table alone. */
void schedule_by_table(struct schedule_block *b);

#endif
