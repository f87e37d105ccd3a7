/* SPDX-License-Identifier: MIT */
/*
 * Cycles of an out-of-order core: the time that it takes to retire instructions, one after the other.
 * docs/methods/core-model.md has the formulas and their sources.
 *
 * A scoreboard keeps the time at which each register is ready, and the times at which the last `window` micro-ops
 * retired. An instruction is dispatched when the front end delivers it and the window has room, starts when its sources
 * and its unit are ready, and retires in order. The difference between its retirement and the previous one is its time:
 * these add up to the run's. Each time is divided among its causes.
 *
 * The static part of an instruction is prepared once (timing_prepare). The events of an execution are told before it is
 * retired: timing_fetch, timing_load, timing_store, timing_branch. Caches and predictors are not part of this model:
 * the caller says which level had the line (model/core.h).
 */
#ifndef ASSAY_MODEL_TIMING_H
#define ASSAY_MODEL_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "x86/insn.h"
#include "model/machine.h"

/* Times are in ticks, of which each share of a cycle's width is a whole number. */
#define TIMING_TICKS 2520u

/* The reasons for which retirement waits: name, meaning. */
#define TIMING_PARTS(X) \
	X(BASE, "base", "dispatch and retirement at full width") \
	X(EXECUTE, "execute", \
	  "latencies of operations and of hits in the first level, one after the other") \
	X(UNIT, "unit", "execution units that other instructions use") \
	X(L2, "l2", "data that the second level had") \
	X(L3, "l3", "data that the last level had") \
	X(MEMORY, "memory", "data that memory had") \
	X(DTLB, "dtlb", "translations of data addresses") \
	X(STORES, "stores", "room in the store buffer") \
	X(ICACHE, "icache", "code that the first level did not have") \
	X(ITLB, "itlb", "translations of code addresses") \
	X(MISPREDICT, "mispredict", "the front end, after a mispredicted branch")
enum timing_part {
#define X(id, name, what) TIMING_##id,
	TIMING_PARTS(X)
#undef X
	TIMING_PART_N,
};

/* The cache that had a line, and the TLB that had a page. */
enum timing_level {
	TIMING_IN_L1,
	TIMING_IN_L2,
	TIMING_IN_L3,
	TIMING_IN_MEMORY,
};
enum timing_tlb {
	TIMING_FIRST_TLB,
	TIMING_SECOND_TLB,
	TIMING_WALK,
};

/* Registers of the scoreboard. */
enum timing_register {
	TIMING_GPR = 0,
	TIMING_FLAGS = 16,
	TIMING_VECTOR = 17,
	TIMING_MASK = 49,
	TIMING_X87 = 57,
	TIMING_ALWAYS, /* a source that is always ready */
	TIMING_SINK,   /* a destination that nothing reads */
	TIMING_REGISTERS,
};

enum timing_unit {
	TIMING_NO_UNIT,
	TIMING_ALU,
	TIMING_MULTIPLY,
	TIMING_DIVIDE,
	TIMING_VECTORS,
	TIMING_SHUFFLE,
	TIMING_VECTOR_DIVIDE,
	TIMING_LOADS,
	TIMING_STORE_PORT,
	TIMING_UNITS,
};

#define TIMING_ADDRESSES 2
#define TIMING_SOURCES 4
#define TIMING_RESULTS 3

/* The static facts of an instruction, from its bytes. */
struct timing_insn {
	uint8_t address[TIMING_ADDRESSES]; /* registers that the address of its access depends on */
	uint8_t source[TIMING_SOURCES];	   /* registers that its operation depends on */
	uint8_t result[TIMING_RESULTS];
	uint8_t unit;  /* enum timing_unit of its operation */
	uint8_t slots; /* fused micro-ops; 0: fused with the instruction before */
	bool loads, stores, serial;
	uint16_t latency; /* latency of its operation in cycles */
	uint32_t busy;	  /* ticks for which it occupies its unit */
};

struct timing;

struct timing *timing_new(const struct machine *m); /* Returns NULL without memory. */
void timing_free(struct timing *t);

/* Prepares the static facts. `before`: the previous instruction if control falls through from
 * it, else NULL. */
void timing_prepare(struct timing_insn *t, const struct insn *in, const struct insn *before,
		    const struct machine *m);

/* The next functions describe the instruction that retires next. Its code was fetched from `level`. */
void timing_fetch(struct timing *t, enum timing_level level, enum timing_tlb tlb);
/* The instruction loads `size` bytes. */
void timing_load(struct timing *t, uint64_t at, uint64_t size, enum timing_level level,
		 enum timing_tlb tlb);
/* The instruction stores `size` bytes. */
void timing_store(struct timing *t, uint64_t at, uint64_t size, enum timing_level level,
		  enum timing_tlb tlb);
/* The instruction prefetches a line, without waiting. */
void timing_prefetch(struct timing *t, uint64_t at, enum timing_level level);
/* The instruction is a branch, taken or not, mispredicted or not. */
void timing_branch(struct timing *t, bool taken, bool mispredicted);

/* Retires the instruction. Returns the time of that in ticks; the time since the previous
 * retirement is added to part[TIMING_PART_N]. */
uint64_t timing_retire(struct timing *t, const struct timing_insn *i, uint64_t *part);

/* The time of the last retirement, in ticks. */
uint64_t timing_now(const struct timing *t);

#endif
