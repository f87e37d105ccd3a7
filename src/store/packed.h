/* SPDX-License-Identifier: MIT */
/*
 * Rows of a compressed blob (zstd) and of `size`, the bytes that it expands to. Another column orders the rows.
 */
#ifndef ASSAY_STORE_PACKED_H
#define ASSAY_STORE_PACKED_H

#include <sqlite3.h>

#include "base/columns.h"
#include "store/budget.h"

/* Inserts a row by a statement whose parameters are size and blob, and a number if there is a third one. Nothing if the blob
 * is empty. patience: ns that compressing may take; 0: as few as possible. An SQLite code. */
int packed_insert(sqlite3 *db, const char *sql, uint64_t number, const struct buffer *b,
		  uint64_t patience);
/* Likewise, with the blob that columns make, which is nowhere in memory as a whole. Empties the columns. */
int packed_columns(sqlite3 *db, const char *sql, uint64_t number, struct columns *c,
		   uint64_t patience);

#define PACKED_ROW \
	(64u \
	 << 20) /* most uncompressed bytes of a row that readers accept, in tables that are written in parts */

enum packed_result {
	PACKED_OK,
	PACKED_MALFORMED,
	PACKED_TOO_LARGE,
	PACKED_MEMORY
};
/* Expands the blob of a row that begins with size and blob, to at most `most` bytes, in place of what `to` holds. */
enum packed_result packed_read(sqlite3_stmt *s, size_t most, struct budget *budget, uint64_t factor,
			       struct buffer *to);

#endif
