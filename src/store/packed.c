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

/* Inserts a row of `size` and a compressed blob. */
static int insert(sqlite3 *db, const char *sql, uint64_t number, size_t size, const void *blob,
		  size_t n)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)size);
		sqlite3_bind_blob(s, 2, blob, (int)n, SQLITE_STATIC);
		if (sqlite3_bind_parameter_count(s) > 2)
			sqlite3_bind_int64(s, 3, (sqlite3_int64)number);
		rc = sqlite3_step(s);
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int packed_insert(sqlite3 *db, const char *sql, uint64_t number, const struct buffer *b,
		  uint64_t patience)
{
	size_t bound = ZSTD_compressBound(b->n), n;
	uint8_t *out;
	int rc;

	if (!b->n)
		return SQLITE_OK;
	out = malloc(bound);
	if (!out)
		return SQLITE_NOMEM;
	n = ZSTD_compress(out, bound, b->p, b->n, level_for(b->n, patience));
	rc = ZSTD_isError(n) ? SQLITE_NOMEM : insert(db, sql, number, b->n, out, n);
	free(out);
	return rc;
}

/* A blob that is compressed piece by piece. */
struct stream {
	ZSTD_CCtx *zstd;
	struct buffer out;
};

/* False without memory. */
static bool begin(struct stream *s, size_t size, uint64_t patience)
{
	*s = (struct stream){ .zstd = ZSTD_createCCtx() };
	return s->zstd &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel,
						    level_for(size, patience))) &&
	       !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(s->zstd, size));
}

/* Compresses another piece, or the last one. False without memory. */
static bool put(struct stream *s, const struct buffer *piece, bool last)
{
	ZSTD_inBuffer in = { .src = piece->p, .size = piece->n };
	size_t left;

	do {
		ZSTD_outBuffer out;

		if (!buffer_room(&s->out, ZSTD_CStreamOutSize()))
			return false;
		out = (ZSTD_outBuffer){ s->out.p, s->out.cap, s->out.n };
		left = ZSTD_compressStream2(s->zstd, &out, &in,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return false;
		s->out.n = out.pos;
	} while (last ? left > 0 : in.pos < in.size);
	return true;
}

int packed_columns(sqlite3 *db, const char *sql, uint64_t number, struct columns *c,
		   uint64_t patience)
{
	struct buffer lengths = { 0 };
	struct stream s = { 0 };
	int rc = SQLITE_NOMEM;
	size_t size;
	bool ok;

	if (!columns_size(c))
		return SQLITE_OK;
	ok = columns_lengths(c, &lengths);
	size = lengths.n + columns_size(c);
	ok = ok && begin(&s, size, patience) && put(&s, &lengths, false);
	for (unsigned i = 0; i < c->n && ok; i++)
		ok = put(&s, &c->of[i], i + 1 == c->n);
	ZSTD_freeCCtx(s.zstd);
	if (ok)
		rc = insert(db, sql, number, size, s.out.p, s.out.n);
	free(s.out.p);
	free(lengths.p);
	columns_empty(c);
	return rc;
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
