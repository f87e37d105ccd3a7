/* SPDX-License-Identifier: MIT */
/*
 * What depends on a value: the instructions of a procedure that compute with it, or with what was
 * computed from it, in registers and flags. Memory is not followed, calls are not followed into, and
 * deciding a branch does not make what runs behind it dependent.
 */
#ifndef ASSAY_QUERY_SLICE_H
#define ASSAY_QUERY_SLICE_H

#include "query/listing.h"

/* largest number of visits to instructions; an instruction is visited each time new taint
 * reaches it */
#define SLICE_STEPS 4096

struct slice {
	const struct listing *listing;
	uint32_t *tainted; /* by instruction: registers and flags that carry the value there */
	size_t *queue, *found;
	size_t nqueue, nfound; /* nfound: indices of the dependents; an origin is not among them */
	bool *is_found;
	struct slice_block {
		double time;
		size_t n;
	} * block;	/* by a block's first instruction; used only by slice_time() */
	bool addresses; /* the value, or a value computed from it, is part of an address */
	size_t *touched, ntouched;
};

int slice_init(struct slice *s, const struct listing *l);
void slice_fini(struct slice *s);
/* Follows the results of instruction i in registers and flags. */
void slice_from_result(struct slice *s, size_t i);
/* Whether some way from instruction i reads argument k (0-5: rdi rsi rdx rcx r8 r9) before it is
 * written; calls do not count as reads. Follows the argument. */
bool slice_uses_argument(struct slice *s, size_t i, int k);
/*
 * Time of the dependents, and of the instruction that the value comes from, if there is one.
 * Several instructions retire at once and one of them gets the samples; which one depends on the
 * CPU. So a dependent counts for at least its even share of its basic block's time.
 */
#define SLICE_NO_ORIGIN SIZE_MAX
double slice_time(const struct slice *s, const struct view *v, size_t origin);

#endif
