/* SPDX-License-Identifier: MIT */
/*
 * Memory for rows of one size. Rows stay where they are as long as their profile does, and lie one
 * behind the other in the order in which they were made, so that a walk through all of them reads
 * memory in order.
 */
#ifndef ASSAY_OBSERVE_ROWS_H
#define ASSAY_OBSERVE_ROWS_H

#include <stddef.h>

struct row_chunk;
struct row_memory { /* all members 0: no memory yet */
	struct row_chunk *chunk;
	size_t left;
};

/* Returns a row of that size, zeroed; NULL without memory. */
void *rows_new(struct row_memory *r, size_t size);
void rows_free(struct row_memory *r);

#endif
