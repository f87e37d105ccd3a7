/* SPDX-License-Identifier: MIT */
/*
 * What is known of an instruction: what it does, by its bytes, and what windows saw of it. Bounds hold for
 * an execution on average; what windows did not see is not known, and bounds nothing.
 */
#ifndef ASSAY_CULPRIT_FACTS_H
#define ASSAY_CULPRIT_FACTS_H

#include "culprit/culprit.h"
#include "culprit/crowd.h"
#include "culprit/fetched.h"
#include "culprit/meetings.h"
#include "culprit/places.h"
#include "isa/insn.h"
#include "observe/locality.h"
#include "observe/misses.h"

#define FACT_FLAGS \
	16 /* bit of reads and writes; below it the general registers, above the vector ones */
#define FACT_VECTOR 17
#define EXPLAINS 1e6 /* cycles: where nothing bounds a culprit */

/* Of an execution, on average: at most; and as is likely, for what shares a stall to be weighed by. */
struct odds {
	double most, likely;
};

struct fact {
	uint64_t addr;
	uint32_t image;
	double executions; /* of its block; 0: not estimated */
	uint64_t reads, writes;
	uint8_t len, cls;
	uint8_t latency;  /* cycles, where what it loads is in L1 */
	bool load, store; /* calls and returns, too */
	bool fuses;	  /* with the branch behind it */
	bool divides, multiplies;
	bool serial; /* waits for all before it, or makes others wait: locks, fences, system calls */
	bool string;		  /* with a count */
	struct odds dcache, dtlb; /* cycles that an access costs beyond L1 and its TLB */
	/* the part of its executions that fails to be forwarded, has an alias */
	struct odds forward, alias;
	struct odds contended; /* the part of its executions whose line another thread has */
	uint64_t forward_store, alias_store;
	struct odds mispredicted; /* the part of its executions */
	struct odds code_line,
		code_page; /* of its fetches, those of what was not used just before */
	struct odds fetch_line,
		fetch_page; /* cycles of its fetches, where misses are known; else INFINITY */
	/* cycles that an execution has waited for the instruction itself (front.c) */
	bool placed;
	struct odds branch, icache, itlb, front;
	const struct fact *branch_fault; /* NULL: none */
};

/* Of all that facts need besides. */
struct fact_source {
	const struct culprit_machine *machine;
	const struct meetings *meetings; /* or NULL: conflicts were not looked for */
	double scale;			 /* of frequencies, to executions */
	uint64_t processes;
	struct locality seen; /* of all sites */
	/* all that the program touches */
	const struct fetched *lines_fetched, *pages_fetched; /* or NULL */
	const struct places *line_places, *page_places;	     /* or NULL */
	struct crowd *data_lines, *data_pages, *code_lines, *code_pages, *targets, *insns;
};

/* site: NULL, it was never seen. in: decoded. */
void fact_make(struct fact *f, const struct insn *in, const struct site *site, double executions,
	       const struct fact_source *src);
/* How often an execution missed, by enum miss_kind, bounds it, too (missed.c). */
void fact_missed(struct fact *f, const double each[MISS_KIND_N], const struct culprit_machine *m);
/* The lower one of two bounds; likely is what the second one says, if it is known. */
struct odds fact_tighter(struct odds a, struct odds b);
/* Cycles that an execution of it can have been held up for, at most, but by what its schedule has: of one that was placed. */
double fact_most(const struct fact *f, const struct culprit_machine *m);
/* Does b read what a writes? Not the flags of one that it is fused with. */
bool fact_feeds(const struct fact *a, const struct fact *b);

/*
 * The cycles that an access costs, by where it went: a line is lost only to others, as many as there is room
 * for (crowd.h). What is not among the addresses listed is anywhere in the region that they show.
 */
struct footprint {
	const struct hot *hot; /* of addresses; may be NULL */
	double uses;
	unsigned unit; /* bits of an address: MACHINE_LINE, MACHINE_PAGE */
	struct crowd *crowd;
	const struct places *places; /* or NULL */
	struct odds fresh;	     /* the part that is of what was not used just before */
	bool fixed;		     /* one place, by the instruction; */
	bool stack;		     /* … near the stack pointer */
	uint64_t processes;
};
struct odds footprint_cost(const struct footprint *f,
			   const struct machine_level level[MACHINE_LEVELS]);
/* Of one place; bursts: of its uses, those that are fresh. */
struct odds footprint_single(double uses, double bursts, struct odds fresh, struct crowd *crowd,
			     const struct machine_level level[MACHINE_LEVELS]);
/*
 * The regions that addresses lie in: of n evenly spread ones a part of 2 / (n + 1) lies outside those seen, on
 * average. A region of each process has the same use: then the widest. Returns how many; 0: too few to tell.
 */
#define FOOTPRINT_REGIONS 64
struct region {
	uint64_t start;
	double bytes;
	unsigned seen; /* addresses */
};
unsigned footprint_regions(const struct hot *h, uint64_t processes,
			   struct region region[FOOTPRINT_REGIONS]);
/* Bytes of all of them; INFINITY: too few to tell. */
double footprint_region(const struct hot *h, uint64_t processes);

/* What ran right before an instruction. */
#define FRONT_FROM 16
struct front_from {
	const struct fact *fact; /* NULL: not known */
	double share;
	bool jumped; /* control went elsewhere: taken, called, returned */
};
/* Fills in what the instruction can have waited for itself, by what ran right before. */
void front_place(struct fact *f, const struct front_from *from, unsigned n, bool head,
		 const struct fact_source *src);

/* Of n, the part that was so; `all`, where few are known: as of all sites. */
struct odds fact_part(uint64_t part, uint64_t n, double all);
/* Upper limit of a share, 95 %: Wilson's. */
double fact_upper(double part, double n);

#endif
