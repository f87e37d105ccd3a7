/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_IMAGE_PADS_H
#define ASSAY_IMAGE_PADS_H

#include <stdbool.h>
#include <stddef.h>

struct image;
struct unwind_range;

/* The ranges that have exception tables. */
struct pads {
	bool read;
	struct unwind_range *v; /* sorted by start */
	size_t n;
};

void pads_fini(struct pads *p);

#endif
