/* SPDX-License-Identifier: MIT */
/*
 * Why instructions stall: guilty until proven innocent (Anderson et al., "Continuous profiling: where have all the
 * cycles gone?", SOSP 1997, section 6.3; docs/methods/culprits.md).
 *
 *   estimate ─▶ facts      of each instruction: its effects, and bounds from windows
 *               schedule   least times at the head of the retire queue
 *            ─▶ path       instructions that ran right before it
 *            ─▶ rules      for each culprit, the most cycles that it can have cost an execution; 0: innocent
 *            ─▶ ranges
 *
 * An instruction's time beyond its schedule is its dynamic stall. Scheduled time of one instruction may show at later
 * ones that retire with it, which is no stall. In a stall of d cycles with bounds b, culprit k has at most min(d, b_k),
 * and at least d less the sum of the other bounds. What all of them cannot explain is unexplained.
 *
 * A sample hits the instruction that waits to retire, on many machines the one after the slow one: suspects are the
 * instructions that can have retired just before, and the stalled one itself.
 */
#ifndef ASSAY_CULPRIT_CULPRIT_H
#define ASSAY_CULPRIT_CULPRIT_H

#include "cpu/penalties.h"
#include "estimate/estimate.h"

/* identifier, JSON name, words, words where there is little room */
#define CULPRITS(X) \
	X(DCACHE, "dcache", "D-cache miss", "D-cache") \
	X(DTLB, "dtlb", "DTLB miss", "DTLB") \
	X(CONTENDED, "contended", "line contended by threads", "contended") \
	X(FORWARD, "forwarding", "store forwarding failed", "forwarding") \
	X(ALIAS, "alias", "4K aliasing", "4K alias") \
	X(STORES, "store_buffer", "store buffer full", "store buffer") \
	X(BRANCH, "branch", "branch mispredicted", "mispredict") \
	X(ICACHE, "icache", "I-cache miss", "I-cache") \
	X(ITLB, "itlb", "ITLB miss", "ITLB") \
	X(FRONT, "front_end", "front end: branch targets, decoding", "front end") \
	X(DIVIDER, "divider", "divider busy", "divider") \
	X(MULTIPLIER, "multiplier", "multiplier busy", "multiplier") \
	X(SERIAL, "serialization", "locks, fences, system calls", "serialization") \
	X(STRING, "string", "string operation", "string") \
	X(LATENCY, "latency", "dependence on earlier blocks", "latency")
enum culprit {
#define X(id, name, words, few) CULPRIT_##id,
	CULPRITS(X)
#undef X
	CULPRIT_N,
};
extern const char *const culprit_name[CULPRIT_N];
extern const char *const culprit_words[CULPRIT_N];
extern const char *const culprit_short[CULPRIT_N];

/* Largest ratio of scheduled time to actual time: cores execute more at once than their models say. */
#define CULPRIT_AT_ONCE 1.3

/* Cycles of one instruction's stall, over all its executions. */
struct culprit_range {
	double min, max; /* max 0: the culprit is innocent */
	double expected; /* likely share of the stall, between min and max */
	uint64_t fault;	 /* the instruction at fault; 0: not known */
	uint64_t with;	 /* the store that it met; 0: none */
	uint32_t image;	 /* image of fault */
};

/* The composition of an instruction's time, in cycles over all its executions. */
struct culprit_insn_time {
	uint64_t addr;
	uint32_t image;
	uint8_t confidence; /* enum confidence of the executions */
	uint8_t why;	    /* enum schedule_why of the static stall */
	uint64_t cause;	    /* the instruction at fault for the static stall; 0: none */
	double executions, cycles;
	double least; /* cycles of an execution by the schedule */
	/* least * executions, divided: `ideal` up to a cycle each; `fixed`, the static stall,
	 * beyond */
	double ideal, fixed;
	double stall; /* the dynamic stall */
	double gain;  /* time missing from its schedule, if no later instruction shows it */
	double unexplained;
	/* cycles that only more executions than estimated would explain */
	double raised;
	struct culprit_range range[CULPRIT_N];
};

/* Sums over instructions. */
struct culprit_sum {
	double samples;
	double cycles, unestimated; /* all cycles; cycles without an estimate of executions */
	double executions;	    /* executions of instructions */
	double error; /* sum over executions of the standard deviation of their logarithm */
	/* samples in code whose executions follow from counters of the program itself */
	double counted;
	/* with fixed and unestimated they are all cycles */
	double ideal, stall, unexplained, raised;
	/* scheduled cycles that were not observed; subtracted from fixed, then from ideal */
	double gain;
	double fixed[4];	 /* static stalls by enum schedule_why */
	double divide, multiply; /* the part of them that waits for a division, a multiplication */
	double multiply_least;	 /* the least of the latter, by its own schedule */
	double min[CULPRIT_N], max[CULPRIT_N], expected[CULPRIT_N];
	double caused
		/* expected stalls, of its own and other instructions, for which its instructions
		 * are at fault */
		[CULPRIT_N];
	double doubtful; /* cycles of instructions with low confidence in their executions */
};

struct culprit_proc {
	const struct estimate_proc *proc;
	struct culprit_insn_time *insn; /* instructions with samples, in the graph's order */
	size_t n;
	struct culprit_sum sum;
};

struct culprits;

/* Opens the analysis of an estimate. e, src and what they refer to must outlive it. Where
 * schedules and bounds contradict the frequencies of parts of e, these are scaled to agree. NULL
 * with err set: no memory. */
struct culprits *culprits_open(struct estimate *e, const struct estimate_source *src,
			       struct err *err);
void culprits_close(struct culprits *c);
/* A source that could not be used, or "". */
const char *culprits_warning(const struct culprits *c);
/* Cycles that each sample stands for. */
double culprits_period(const struct culprits *c);

/* Explains a procedure. -1 with err set: no memory. */
int culprits_of(struct culprits *c, const struct estimate_proc *p, struct culprit_proc *out,
		struct err *err);
void culprit_proc_fini(struct culprit_proc *p);
void culprit_sum_add(struct culprit_sum *to, const struct culprit_sum *s);

#endif
