/* SPDX-License-Identifier: MIT */
/*
 * The rules: of each culprit, the most that it can have cost an execution of the stalled instruction, and what it
 * is likely to have cost: where several can have caused a stall, they share it in that proportion.
 */
#ifndef ASSAY_CULPRIT_RULES_H
#define ASSAY_CULPRIT_RULES_H

#include "culprit/facts.h"

#define CASE_FROM 16 /* instructions that ran right before */
#define CASE_SUSPECTS 32
#define CASE_STORES 32

/* An instruction that ran before the stalled one, in a part of its executions. */
struct case_before {
	const struct fact *fact;
	double share;
	unsigned distance; /* instructions between them */
};

/* A stalled instruction. */
struct culprit_case {
	const struct culprit_machine *machine;
	const struct fact *fact;
	double stall; /* dynamic, cycles of an execution */
	double least; /* by the schedule */
	/* it may be one of those that samples wait for: what retires right before it, nearest first; then itself */
	struct case_before suspect[CASE_SUSPECTS];
	unsigned nsuspects;
	double elsewhere; /* share of executions before which code ran that is not known */
	struct case_before store[CASE_STORES]; /* stores that may still be in the buffer */
	unsigned nstores;
};

/* What a rule says. */
struct culprit_verdict {
	double most;   /* cycles of an execution; 0: innocent */
	double likely; /* … beside those of the others */
	uint64_t fault, with;
	uint32_t image; /* of fault */
};

struct culprit_rule {
	enum culprit culprit;
	void (*judge)(const struct culprit_case *c, struct culprit_verdict *v);
};
extern const struct culprit_rule culprit_rules[CULPRIT_N];

/* All of them: by culprit. */
void culprit_judge(const struct culprit_case *c, struct culprit_verdict v[CULPRIT_N]);
/*
 * No execution takes longer than all that can have held it up. Where one seems to, and its estimate is doubtful,
 * there are more of them than were estimated: as many times as many as make of it what is likely, within reason.
 */
double culprit_more(double stall, const struct culprit_verdict v[CULPRIT_N]);
/* Cycles of an execution at least and at most, from verdicts; what is left unexplained. culprit_limits() leaves out what is
 * expected. */
double culprit_limits(double stall, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N]);
double culprit_ranges(double stall, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N]);

#endif
