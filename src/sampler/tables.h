/* SPDX-License-Identifier: MIT */
/*
 * The kernel side's tables of unwind rules (bpf/unwind.h), made on demand: a page of rows is made when a stack goes
 * through that code. Programs run a small part of the code they map, so most rows are never made.
 */
#ifndef ASSAY_SAMPLER_TABLES_H
#define ASSAY_SAMPLER_TABLES_H

#include <stdbool.h>

#include "image/image.h"
#include "sampler/bpf/unwind_tables.h"

struct tables;

#define TABLES_ENTRY \
	64 /* bytes of code, such as the call in _start, that has no rule because it is the outermost */

/* The memory of the tables, which the caller provides and keeps: mapped maps of the kernel side. */
struct tables_memory {
	struct unwind_image *image; /* array of UNWIND_IMAGES elements */
	uint64_t *page;		    /* UNWIND_PAGES */
	struct unwind_line *line;   /* UNWIND_ROWS / UNWIND_LINE */
	struct unwind_rule *rule;   /* UNWIND_RULES */
};

/* NULL without memory. */
struct tables *tables_new(const struct tables_memory *m);
void tables_free(struct tables *t);
/* Makes the rows around an address of the image of that number. Without room none are made. */
void tables_want(struct tables *t, uint32_t number, struct image *im, uint64_t addr);
/* Makes all rows of the image; for measuring. */
void tables_want_all(struct tables *t, uint32_t number, struct image *im);
struct tables_size {
	size_t rows, rules, pages; /* pages whose rows have been made */
};
struct tables_size tables_size(const struct tables *t);

#endif
