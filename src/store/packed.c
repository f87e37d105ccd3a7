/* SPDX-License-Identifier: MIT */
#include "store/packed.h"

#include <stdlib.h>
#include <zstd.h>

/* Levels of zstd, best first, and the ns that they take for a byte at most. */
static const struct {
	int level;
	uint64_t ns;
} levels[] = { { 17, 300 }, { 9, 30 }, { 1, 0 } };

static int level_for(size_t bytes, uint64_t patience)
{
	size_t i = 0;

	while (bytes * levels[i].ns > patience)
		i++;
	return levels[i].level;
}

int packed_insert(sqlite3 *db, const char *sql, uint64_t number, const struct buffer *b,
		  uint64_t patience)
{
	size_t bound = ZSTD_compressBound(b->n), n;
	sqlite3_stmt *s = NULL;
	uint8_t *out;
	int rc;

	if (!b->n)
		return SQLITE_OK;
	out = malloc(bound);
	if (!out)
		return SQLITE_NOMEM;
	n = ZSTD_compress(out, bound, b->p, b->n, level_for(b->n, patience));
	rc = ZSTD_isError(n) ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)b->n);
		sqlite3_bind_blob(s, 2, out, (int)n, SQLITE_STATIC);
		if (sqlite3_bind_parameter_count(s) > 2)
			sqlite3_bind_int64(s, 3, (sqlite3_int64)number);
		rc = sqlite3_step(s);
	}
	sqlite3_finalize(s);
	free(out);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

enum packed_result packed_read(sqlite3_stmt *s, size_t most, struct budget *budget, uint64_t factor,
			       struct buffer *to)
{
	int64_t size = sqlite3_column_int64(s, 0);
	const void *blob = sqlite3_column_blob(s, 1);
	size_t stored = (size_t)sqlite3_column_bytes(s, 1);

	to->n = 0;
	if (size < 1 || (uint64_t)size > most || !blob ||
	    ZSTD_getFrameContentSize(blob, stored) != (unsigned long long)size)
		return PACKED_MALFORMED;
	if (!budget_take(budget, (size_t)size, stored, factor))
		return PACKED_TOO_LARGE;
	if (!buffer_room(to, (size_t)size))
		return PACKED_MEMORY;
	if (ZSTD_decompress(to->p, (size_t)size, blob, stored) != (size_t)size)
		return PACKED_MALFORMED;
	to->n = (size_t)size;
	return PACKED_OK;
}
