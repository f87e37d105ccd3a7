/* SPDX-License-Identifier: MIT */
#include "observe/rows.h"

#include <stdint.h>
#include <stdlib.h>

#define ROWS 512 /* rows of a chunk */

struct row_chunk {
	struct row_chunk *next;
	uint64_t row[];
};

void *rows_new(struct row_memory *r, size_t size)
{
	struct row_chunk *c;

	if (!r->left) {
		c = calloc(1, sizeof(*c) + ROWS * size);
		if (!c)
			return NULL;
		c->next = r->chunk;
		r->chunk = c;
		r->left = ROWS;
	}
	return (char *)r->chunk->row + (ROWS - r->left--) * size;
}

void rows_free(struct row_memory *r)
{
	struct row_chunk *next;

	for (struct row_chunk *c = r->chunk; c; c = next) {
		next = c->next;
		free(c);
	}
	*r = (struct row_memory){ 0 };
}
