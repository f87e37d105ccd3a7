/* SPDX-License-Identifier: MIT */
/* The static schedules of a program: those of all blocks whose class has samples. */
#ifndef ASSAY_ESTIMATE_SCHEDULES_H
#define ASSAY_ESTIMATE_SCHEDULES_H

#include "estimate/estimate.h"
#include "estimate/schedule.h"

struct schedules {
	struct schedule_block *block;
	size_t n;
	uint32_t *of;		    /* by block: its index in `block` + 1, or 0 */
	struct schedule_insn *insn; /* the instructions of all blocks */
	size_t ninsns;
	/* the reason why llvm-mca could not be used for all blocks; else its msg is "" */
	struct err warning;
};

/* Returns -1 without memory, with nothing in s. */
int schedules_make(struct schedules *s, const struct estimate *e,
		   const struct estimate_source *src);
void schedules_fini(struct schedules *s);
/* The schedule of a block's instructions; NULL: it has none. */
const struct schedule_insn *schedules_of(const struct schedules *s, const struct estimate_proc *p,
					 uint32_t block);

#endif
