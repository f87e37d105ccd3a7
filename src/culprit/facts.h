/* SPDX-License-Identifier: MIT */
/*
 * What is known of an instruction: what it does, by its bytes, and what windows saw of it. Bounds hold for
 * an execution on average; what windows did not see is not known, and bounds nothing.
 */
#ifndef ASSAY_CULPRIT_FACTS_H
#define ASSAY_CULPRIT_FACTS_H

#include "culprit/culprit.h"
#include "culprit/meetings.h"
#include "isa/insn.h"

#define FACT_FLAGS \
	16 /* bit of reads and writes; below it the general registers, above the vector ones */
#define FACT_VECTOR 17

struct fact {
	uint64_t addr;
	double executions; /* of its block; 0: not estimated */
	uint64_t reads, writes;
	uint8_t len, cls;
	uint8_t latency;  /* cycles, where what it loads is in L1 */
	bool load, store; /* calls and returns, too */
	bool fuses;	  /* with the branch behind it */
	bool divides, multiplies;
	bool serial; /* waits for all before it, or makes others wait: locks, fences, system calls */
	bool string; /* with a count */
	/* most cycles that an access costs beyond L1 and its TLB */
	double dcache, dtlb;
	double forward,
		alias; /* most that part of its executions fails to be forwarded, has an alias */
	uint64_t forward_store, alias_store;
	double mispredicted; /* most that part of its executions can be */
};

/* Of all that facts need besides. */
struct fact_source {
	const struct culprit_machine *machine;
	const struct meetings *meetings; /* or NULL: conflicts were not looked for */
	double instructions;		 /* executed by the program */
	uint64_t processes;
};

/* site: NULL, it was never seen. in: decoded. */
void fact_make(struct fact *f, const struct insn *in, const struct site *site, double executions,
	       const struct fact_source *src);
/* Does b read what a writes? Not the flags of one that it is fused with. */
bool fact_feeds(const struct fact *a, const struct fact *b);

/*
 * The most cycles that an access costs, by where it went: h are its addresses, one in `interval` instructions of the
 * program. A line is lost only to others, as many as there is room for: that takes them room times `per`
 * instructions, so that of the accesses to a line at most interval / (room * per) find it gone (Markov's inequality).
 * What is not among the addresses listed is anywhere in the region that they show.
 */
struct footprint {
	const struct hot *hot;
	double interval;
	unsigned unit; /* bits of an address: MACHINE_LINE, MACHINE_PAGE */
	double per;    /* MACHINE_INSNS_… */
	bool fixed;    /* one place, by the instruction; */
	bool stack;    /* … near the stack pointer */
	uint64_t processes;
};
double footprint_bound(const struct footprint *f, const struct machine_level level[MACHINE_LEVELS]);
/* Of one place. */
double footprint_single(double interval, double per,
			const struct machine_level level[MACHINE_LEVELS]);
/* Upper limit of a share, 95 %: Wilson's. */
double fact_upper(double part, double n);

#endif
