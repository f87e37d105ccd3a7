/* SPDX-License-Identifier: MIT */
/*
 * Semi-invariants of the whole program, best first: loads, results and arguments that are mostly one
 * value.
 *
 * What one is worth is the time that it could save: the time at the instruction and at those that
 * depend on its value within the procedure (query/slice.h), times the lower confidence limit of its
 * share; in an exact recording, the instructions executed there. An argument that nothing in the procedure reads, a value that is constant by construction, and
 * what belongs to the stack are left out; so is a result that follows from an invariant shown above it.
 */
#ifndef ASSAY_REPORT_VALUES_H
#define ASSAY_REPORT_VALUES_H

#include "report/reading.h"

/* The words that --operand accepts. */
#define VALUES_OPERANDS "load result argument return store address target all"

struct values_options {
	const char *operand; /* one of VALUES_OPERANDS; NULL: loads, results, arguments, returns */
	const char *image;   /* shell pattern, or NULL */
	const char *procedure; /* name for lookup_proc, or NULL */
	double min_share;      /* least lower limit of a share */
	unsigned n;	       /* number of rows; 0: all */
	bool all;	       /* show everything */
};

/* A bit for each enum operand that the word, one of VALUES_OPERANDS or NULL, stands for. */
uint32_t values_operands(const char *word);
int values_print(struct reading *r, const struct values_options *o, struct err *err);

#endif
