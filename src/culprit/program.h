/* SPDX-License-Identifier: MIT */
/*
 * Culprits of a whole program: every instruction with samples, and the sums of its procedures. They
 * can be written as bytes, for recordings to keep.
 */
#ifndef ASSAY_CULPRIT_PROGRAM_H
#define ASSAY_CULPRIT_PROGRAM_H

#include "culprit/culprit.h"
#include "base/varint.h"

struct culprit_program_proc {
	uint32_t image;
	uint64_t addr; /* start of the procedure */
	struct culprit_sum sum;
};

struct culprit_program {
	struct culprit_insn_time *insn; /* sorted by image, then address */
	size_t ninsn;
	struct culprit_program_proc *proc; /* procedures with samples, most cycles first */
	size_t nproc;
	struct culprit_sum sum;
	double period; /* cycles that a sample stands for */
	double apart;  /* the estimate's parts; not stored */
	char warning[512];
};

/* Makes the estimate, then finds culprits. -1 with err set: no memory. */
int culprit_program_make(struct culprit_program *p, const struct estimate_source *src,
			 enum estimate_method method, struct err *err);
void culprit_program_fini(struct culprit_program *p);
/* The time of that instruction, or NULL: it has no samples, or its procedure has no graph. */
const struct culprit_insn_time *culprit_program_at(const struct culprit_program *p, uint32_t image,
						   uint64_t addr);
/* The procedure that begins in [from, to), or NULL. */
const struct culprit_program_proc *culprit_program_proc(const struct culprit_program *p,
							uint32_t image, uint64_t from, uint64_t to);

/* Appends the bytes to b; false without memory. */
bool culprit_program_write(const struct culprit_program *p, struct buffer *b);
/* Reads n untrusted bytes; false: malformed, or no memory. nimages: number of images. */
bool culprit_program_read(struct culprit_program *p, const uint8_t *bytes, size_t n,
			  size_t nimages);

#endif
