/* SPDX-License-Identifier: MIT */
/*
 * The extents of procedures as .eh_frame tells them: what a stripped file still knows.
 */
#ifndef ASSAY_IMAGE_UNWIND_H
#define ASSAY_IMAGE_UNWIND_H

#include "image/image.h"

struct unwind_range {
	uint64_t start, end;
	uint64_t lsda; /* where its exception table is; 0: it has none */
};

struct unwind {
	struct unwind_range *v; /* by start; they do not overlap */
	size_t n, cap;
	size_t expected; /* how many there may be */
};

/* What is malformed is left out. False without memory. */
bool unwind_read(struct unwind *u, const struct image *im);
void unwind_fini(struct unwind *u);
/* The range that holds addr, or NULL. */
const struct unwind_range *unwind_at(const struct unwind *u, uint64_t addr);

#endif
