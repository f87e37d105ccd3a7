/* SPDX-License-Identifier: MIT */
#include "store/derived.h"

#include <sqlite3.h>
#include <unistd.h>
#include <zstd.h>

#define WAIT_MS 200 /* for somebody else who keeps something */

static sqlite3 *open_file(const char *path, bool write)
{
	sqlite3 *db = NULL;

	if (access(path, write ? R_OK | W_OK : R_OK) ||
	    sqlite3_open_v2(path, &db, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
			    NULL) != SQLITE_OK) {
		sqlite3_close(db);
		return NULL;
	}
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, DERIVED_MAX);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_busy_timeout(db, WAIT_MS);
	return db;
}

static bool unpack(sqlite3_stmt *s, struct buffer *b)
{
	sqlite3_int64 size = sqlite3_column_int64(s, 0);
	const void *data = sqlite3_column_blob(s, 1);
	size_t n = (size_t)sqlite3_column_bytes(s, 1);

	if (!data || size <= 0 || size > DERIVED_MAX || !buffer_room(b, (size_t)size))
		return false;
	b->n = ZSTD_decompress(b->p, (size_t)size, data, n);
	return !ZSTD_isError(b->n) && b->n == (size_t)size;
}

bool derived_read(const char *path, const char *kind, const char *key, struct buffer *b)
{
	sqlite3 *db = open_file(path, false);
	sqlite3_stmt *s = NULL;
	bool ok = false;

	*b = (struct buffer){ 0 };
	if (db && sqlite3_prepare_v2(db, "SELECT size, data FROM derived WHERE kind=? AND key=?",
				     -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, key, -1, SQLITE_STATIC);
		ok = sqlite3_step(s) == SQLITE_ROW && unpack(s, b);
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	if (!ok) {
		free(b->p);
		*b = (struct buffer){ 0 };
	}
	return ok;
}

static bool insert(sqlite3 *db, const char *kind, const char *key, size_t size, const void *data,
		   size_t n)
{
	sqlite3_stmt *s = NULL;
	bool ok;

	if (sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO derived VALUES(?,?,?,?)", -1, &s,
			       NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)size);
	sqlite3_bind_blob(s, 4, data, (int)n, SQLITE_STATIC);
	ok = sqlite3_step(s) == SQLITE_DONE;
	sqlite3_finalize(s);
	return ok;
}

bool derived_write(const char *path, const char *kind, const char *key, const struct buffer *b)
{
	size_t bound = ZSTD_compressBound(b->n), n = 0;
	sqlite3 *db = NULL;
	void *out = NULL;
	bool ok = false;

	if (!b->n || b->n > DERIVED_MAX)
		return false;
	out = malloc(bound);
	n = out ? ZSTD_compress(out, bound, b->p, b->n, 1) : 0;
	if (n && !ZSTD_isError(n))
		db = open_file(path, true);
	if (db && sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK) {
		ok = sqlite3_exec(db,
				  "CREATE TABLE IF NOT EXISTS derived(kind TEXT PRIMARY KEY,"
				  " key TEXT, size INTEGER, data BLOB) WITHOUT ROWID",
				  NULL, NULL, NULL) == SQLITE_OK &&
		     insert(db, kind, key, b->n, out, n);
		ok &= sqlite3_exec(db, ok ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
	}
	sqlite3_close(db);
	free(out);
	return ok;
}
