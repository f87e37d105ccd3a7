/* SPDX-License-Identifier: MIT */
/* The static schedules of a program: of all blocks of which something equally frequent has samples. */
#ifndef ASSAY_ESTIMATE_SCHEDULES_H
#define ASSAY_ESTIMATE_SCHEDULES_H

#include "estimate/estimate.h"
#include "estimate/schedule.h"

struct schedules {
	struct schedule_block *block;
	size_t n;
	uint32_t *of;		    /* by block of the program: its place in `block` + 1, or 0 */
	struct schedule_insn *insn; /* of all of them */
	size_t ninsns;
	struct err warning; /* why llvm-mca could not be used for all; else its msg is "" */
};

/* -1 without memory, with nothing in s. */
int schedules_make(struct schedules *s, const struct estimate *e,
		   const struct estimate_source *src);
void schedules_fini(struct schedules *s);
/* Those of a block's instructions; NULL: it has none. */
const struct schedule_insn *schedules_of(const struct schedules *s, const struct estimate_proc *p,
					 uint32_t block);

#endif
