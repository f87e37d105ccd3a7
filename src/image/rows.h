/* SPDX-License-Identifier: MIT */
/* The rows of an image's unwind information: stretches of code with one rule each (image/rule.h). */
#ifndef ASSAY_IMAGE_ROWS_H
#define ASSAY_IMAGE_ROWS_H

#include "image/image.h"
#include "image/rule.h"

struct unwind_row {
	uint64_t start, end; /* the code that the rule is for */
	struct unwind_rule rule;
};

/* The row that holds the address. Where the image has no rule, the row is that one address, with RULE_NONE. */
void rows_at(struct image *im, uint64_t addr, struct unwind_row *row);

#endif
