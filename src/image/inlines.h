/* SPDX-License-Identifier: MIT */
/*
 * Procedures that a compiler has put into others, by debug information (libdw). Of each unit that is asked about, the procedures
 * are found once, so an address takes a search and a walk through one procedure.
 */
#ifndef ASSAY_IMAGE_INLINES_H
#define ASSAY_IMAGE_INLINES_H

#include "image/image.h"
#include "image/lines.h"

struct inlines {
	struct inlines_unit *units; /* by offset */
};

/* The inlined calls at an address, innermost first: image_inlines() of an image whose lines are l. */
size_t inlines_at(struct inlines *x, struct lines *l, uint64_t addr, struct image_inline *found,
		  size_t max);
void inlines_fini(struct inlines *x);

#endif
