/* SPDX-License-Identifier: MIT */
/*
 * The rules: for each culprit, the most that it can have cost an execution of the stalled
 * instruction, and its likely cost; several possible causes share a stall in proportion to their
 * likely costs.
 */
#ifndef ASSAY_CULPRIT_RULES_H
#define ASSAY_CULPRIT_RULES_H

#include "culprit/facts.h"

#define CASE_FROM 16 /* number of instructions that ran right before */
#define CASE_SUSPECTS 32
#define CASE_STORES 32

/* An instruction that ran before the stalled one, with the share of executions where it did. */
struct case_before {
	const struct fact *fact;
	double share;
	unsigned distance; /* instructions in between */
};

/* A stalled instruction and its neighbourhood. */
struct culprit_case {
	const struct culprit_machine *machine;
	const struct fact *fact;
	double stall; /* dynamic stall, cycles of an execution */
	double least; /* cycles by the schedule */
	/* instructions that samples may have waited for: those that retire right before it,
	 * nearest first, then itself */
	struct case_before suspect[CASE_SUSPECTS];
	unsigned nsuspects;
	double elsewhere; /* share of executions before which unknown code ran */
	struct case_before store[CASE_STORES]; /* stores that may still be in the buffer */
	unsigned nstores;
};

/* The verdict of a rule. */
struct culprit_verdict {
	double most;   /* most cycles of an execution; 0: innocent */
	double likely; /* likely cycles, relative to the other culprits' */
	uint64_t fault, with;
	uint32_t image; /* image of fault */
};

struct culprit_rule {
	enum culprit culprit;
	void (*judge)(const struct culprit_case *c, struct culprit_verdict *v);
};
extern const struct culprit_rule culprit_rules[CULPRIT_N];

/* Judges all culprits; the result is indexed by culprit. */
void culprit_judge(const struct culprit_case *c, struct culprit_verdict v[CULPRIT_N]);
/*
 * Returns the factor by which executions were underestimated. No execution takes longer than
 * everything that can have held it up; if a doubtful estimate implies a longer one, the factor
 * makes the stall a likely one, within limits.
 */
double culprit_more(double stall, const struct culprit_verdict v[CULPRIT_N]);
/* Computes the least and most cycles of each culprit in an execution, and the unexplained rest.
 * culprit_limits() does not compute `expected`. */
double culprit_limits(double stall, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N]);
double culprit_ranges(double stall, const struct culprit_verdict v[CULPRIT_N],
		      struct culprit_range r[CULPRIT_N]);

#endif
