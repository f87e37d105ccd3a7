/* SPDX-License-Identifier: MIT */
/*
 * Where control went in one image: its instructions that were executed, how often, and where each transfer of control led.
 *
 * Counts of a sampled recording are what windows saw, each window weighed (profile_window in observe/profile.h). They are
 * whole numbers, as optimisers take them: weights are multiplied by FLOW_SCALE, and what was seen at all counts 1 at least.
 */
#ifndef ASSAY_EXPORT_FLOW_H
#define ASSAY_EXPORT_FLOW_H

#include "export/target.h"

#define FLOW_SCALE 100
#define FLOW_OUTSIDE 0 /* in place of an address: not in this image */

/* An instruction that was executed. */
struct flow_step {
	uint64_t addr, next;   /* next: of the instruction that follows it */
	uint64_t target;       /* of a direct branch, jump or call; else 0 */
	uint64_t count, taken; /* executions; of a branch, how often it was taken */
	uint64_t windows;      /* different windows that saw it */
	uint8_t cls;	       /* enum insn_class */
};

/* Where an indirect jump or call went; from FLOW_OUTSIDE: where other images entered. */
struct flow_jump {
	uint64_t from, to, count;
	bool call; /* or an entry, rather than a jump */
};

struct flow {
	struct flow_step *step; /* by address */
	size_t nstep;
	struct flow_jump *jump; /* by from, then to */
	size_t njump;
	size_t stale;	  /* transfers left out: the file has another instruction there */
	uint64_t windows; /* in the whole recording; 0: it is exact */
};

/* -1 with err set: no memory, nothing was executed. */
int flow_collect(struct flow *f, const struct profile *p, const struct target *t, struct err *err);
void flow_free(struct flow *f);
/* The step at addr, or NULL. */
const struct flow_step *flow_at(const struct flow *f, uint64_t addr);
/*
 * How often control went on from the step to what follows it in memory: after a call too, when it returned. 0 for what never
 * goes on, and where nothing that follows was seen.
 */
uint64_t flow_falls(const struct flow *f, size_t step);

#endif
