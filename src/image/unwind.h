/* SPDX-License-Identifier: MIT */
/* The extents of procedures according to .eh_frame, or Go's .gopclntab, which also stripped files have, and to .debug_frame. */
#ifndef ASSAY_IMAGE_UNWIND_H
#define ASSAY_IMAGE_UNWIND_H

#include "image/image.h"

struct unwind_range {
	uint64_t start, end;
	uint64_t lsda; /* address of its exception table; 0: it has none */
};

struct unwind {
	struct unwind_range *v; /* sorted by start, without overlaps */
	size_t n, cap;
};

/* Reads the ranges, skipping malformed entries. False without memory. */
bool unwind_read(struct unwind *u, const struct image *im);
void unwind_fini(struct unwind *u);
/* The range that holds addr, or NULL. */
const struct unwind_range *unwind_at(const struct unwind *u, uint64_t addr);

#endif
