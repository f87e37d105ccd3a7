/* SPDX-License-Identifier: MIT */
/*
 * The static schedule (Anderson et al., "Continuous profiling: where have all the cycles gone?",
 * SOSP 1997): the least time that each instruction of a basic block spends at the head of the
 * retire queue, without dynamic stalls.
 *
 * The unit is a core cycle. Several instructions retire in one, so most take a part of it, or none:
 * a group that retires together gives its time to its first instruction. A block is scheduled as if
 * it ran again and again, because neighbouring blocks overlap in an out-of-order core and the time
 * to fill a pipeline never shows. For a block that is a loop this is exact. An execution of another
 * block waits for the one before it only through registers that no block sets in between; all its
 * other inputs were computed long before.
 *
 * There are two models: llvm-mca's of the CPU that recorded, and a coarse table by kind of
 * instruction.
 */
#ifndef ASSAY_ESTIMATE_SCHEDULE_H
#define ASSAY_ESTIMATE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum schedule_why {
	SCHEDULE_NONE,	     /* the instruction retires without waiting */
	SCHEDULE_DEPENDENCE, /* the instruction waits for the result of `cause` */
	SCHEDULE_UNIT,	     /* the instruction waits for a unit that `cause` uses */
	SCHEDULE_LATENCY,    /* the instruction's own latency is long */
};

struct schedule_insn {
	float least; /* M: cycles at the head of the retire queue; 0: no issue point */
	/* index in the block of the instruction at fault, or -1; its own or a later index: that
	 * instruction of the execution before */
	int32_t cause;
	uint8_t why;	 /* enum schedule_why */
	uint8_t latency; /* cycles until its result is ready, by the model */
	/* address of the instruction at fault, if it is in another block of the same image; else 0 */
	uint64_t elsewhere;
};

struct schedule_block {
	const uint8_t *code; /* `size` bytes with `n` instructions */
	size_t size;
	uint64_t addr;
	unsigned n;
	/* n entries that the caller provides and schedule_blocks() fills in */
	struct schedule_insn *insn;
	/* general registers (enum uop_reg), one bit each, and xmm0 to xmm15 in the bits from
	 * SCHEDULE_VECTORS on, that an execution finds as the one before left them;
	 * SCHEDULE_LOOP: the block leads to itself */
	uint32_t carried;
	bool cold;     /* not worth llvm-mca's time: scheduled by the table */
	bool modelled; /* scheduled by llvm-mca; else by the table */
	bool known;    /* private: the schedule came from the memo */
};

#define SCHEDULE_VECTORS 16
#define SCHEDULE_LOOP 0xffffffffu
#define SCHEDULE_BLOCK_MAX 256 /* instructions; longer ones are scheduled in pieces */

struct schedule_options {
	const char *cpu;     /* the CPU's name in the recording: "AMD EPYC 9654" */
	bool table;	     /* use the table alone */
	const char *program; /* path of llvm-mca; NULL: an installed one */
	unsigned timeout_ms; /* time limit of one process; 0: a minute */
	/* schedules made before, which new ones are added to; or NULL */
	struct schedule_memo *memo;
};

/*
 * Schedules all blocks with llvm-mca, and by the table those it cannot schedule. Returns 0, or 1
 * with err set: llvm-mca could not be used for all, and the rest is by the table. -1 with err set:
 * no memory.
 */
int schedule_blocks(struct schedule_block *v, size_t n, const struct schedule_options *o,
		    struct err *err);

/* llvm-mca's name (-mcpu) for a CPU as /proc/cpuinfo names it. An unknown CPU gets a common one
 * of its maker: znver4, skylake-avx512. */
const char *schedule_model(const char *cpu);
/* Schedules a block by the table alone. */
void schedule_by_table(struct schedule_block *b);

#endif
