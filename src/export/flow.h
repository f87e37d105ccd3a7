/* SPDX-License-Identifier: MIT */
/*
 * Where control went in one image: its executed instructions, how often each ran, and where each transfer of control
 * led.
 *
 * Counts of a sampled recording are those of windows, each window weighed (profile_window in observe/profile.h). They
 * are whole numbers, as optimisers read them: weights are multiplied by FLOW_SCALE, and everything that was seen counts
 * at least 1.
 */
#ifndef ASSAY_EXPORT_FLOW_H
#define ASSAY_EXPORT_FLOW_H

#include "export/target.h"

#define FLOW_SCALE 100
#define FLOW_OUTSIDE 0 /* in place of an address: outside of this image */

/* An instruction that was executed. */
struct flow_step {
	uint64_t addr, next;   /* next: address of the following instruction */
	uint64_t target;       /* target of a direct branch, jump or call; else 0 */
	uint64_t count, taken; /* executions; for a branch, also how often it was taken */
	uint64_t windows;      /* number of different windows that saw it */
	uint8_t cls;	       /* enum insn_class */
};

/* The target of an indirect jump or call; from FLOW_OUTSIDE: an entry from other images. */
struct flow_jump {
	uint64_t from, to, count;
	bool call; /* it is a call, or an entry, not a jump */
};

struct flow {
	struct flow_step *step; /* sorted by address */
	size_t nstep;
	struct flow_jump *jump; /* sorted by from, then to */
	size_t njump;
	size_t stale;	  /* transfers left out because the file has another instruction there */
	uint64_t windows; /* windows of the whole recording; 0: it is exact */
};

/* Returns -1 with err set: no memory, or nothing was executed. */
int flow_collect(struct flow *f, const struct profile *p, const struct target *t, struct err *err);
void flow_free(struct flow *f);
/*
 * How often control fell through from the step to the next instruction in memory, also after a call
 * that returned. 0 if it never falls through, or nothing that follows was seen.
 */
uint64_t flow_falls(const struct flow *f, size_t step);

#endif
