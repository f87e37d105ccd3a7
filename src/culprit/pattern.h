/* SPDX-License-Identifier: MIT */
/*
 * How a load's address is computed, which decides how much of a miss other instructions hide
 * (Karkhanis, Smith, "A First-Order Superscalar Processor Model", ISCA 2004): a load whose address
 * was loaded by its own last execution waits for the whole latency; loads whose addresses do not
 * depend on one another overlap; a load that advances by a constant is prefetched.
 */
#ifndef ASSAY_CULPRIT_PATTERN_H
#define ASSAY_CULPRIT_PATTERN_H

#include "estimate/estimate.h"

enum pattern_kind {
	PATTERN_APART,	/* the address follows none of the patterns below, or is not known */
	PATTERN_STREAM, /* the address advances by a constant from one execution to the next */
	PATTERN_CHAIN,	/* the address depends on a load that depends on its own last execution */
};

struct pattern {
	enum pattern_kind kind;
	unsigned every; /* instructions from one execution to the next; 0: not known */
	/* Of a chain or a stream that depends on nothing else: executions until it begins anew, on average; otherwise 0. */
	double walk;
};

/* Searches backwards along the most frequent way, from the block's k-th instruction, a load, to
 * its last execution. */
struct pattern pattern_of(struct image *im, const struct estimate_proc *proc, uint32_t block,
			  uint32_t k);

#endif
