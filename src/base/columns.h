/* SPDX-License-Identifier: MIT */
/*
 * Numbers of rows by column: the first numbers of all rows lie side by side, then the second ones, and so on, because like
 * numbers compress better than rows do. As bytes: the length of each column, a varint each, then the columns.
 */
#ifndef ASSAY_BASE_COLUMNS_H
#define ASSAY_BASE_COLUMNS_H

#include "base/varint.h"

#define COLUMNS_MAX 48

/* Columns that are written. All members zero, except the number of columns: nothing yet. */
struct columns {
	unsigned n;
	struct buffer of[COLUMNS_MAX];
};

/* Appends a number to one column. False without memory. */
static inline bool column_put(struct buffer *b, uint64_t v)
{
	if (!buffer_room(b, VARINT_MAX))
		return false;
	varint_put(b, v);
	return true;
}

/* Bytes that all columns have. */
size_t columns_size(const struct columns *c);
/* Appends what is before the columns: their lengths. False without memory. */
bool columns_lengths(const struct columns *c, struct buffer *to);
void columns_empty(struct columns *c);
/* Appends the lengths and all columns to `to`, and empties them. False without memory. */
bool columns_join(struct columns *c, struct buffer *to);
void columns_fini(struct columns *c);

/* Finds n columns in untrusted bytes: of[0..n). False if these bytes are not as many columns. */
bool columns_split(struct cursor *of, unsigned n, const uint8_t *p, size_t size);
/* Whether nothing is left of any of the columns. */
bool columns_ended(const struct cursor *of, unsigned n);

#endif
