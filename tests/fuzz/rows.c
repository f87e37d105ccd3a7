/* SPDX-License-Identifier: MIT */
/* Any bytes as the columns of a table's row, behind a first byte that says of which table. Compressed rows of a recording's
 * file are out of reach of a fuzzer that changes the file. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/caller_rows.h"
#include "store/pairs.h"
#include "store/schema.h"
#include "store/snapshot.h"
#include "store/stack_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint32_t map[3] = { 0, 0, 0 };

static const char *const insert[] = {
	"INSERT INTO call(size, calls) VALUES(?,?)",
	"INSERT INTO conflict(size, conflicts) VALUES(?,?)",
	"INSERT INTO caller(size, rows) VALUES(?,?)",
	"INSERT INTO frame(size, frames, first) VALUES(?,?,?)",
	"INSERT INTO stack(size, samples, width) VALUES(?,?,?)",
};
#define TABLES (sizeof(insert) / sizeof(*insert))

/* A database without rows, which all inputs share. */
static sqlite3 *empty(void)
{
	static sqlite3 *db;

	if (!db &&
	    (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	     sqlite3_exec(db, schema_sql, NULL, NULL, NULL) != SQLITE_OK ||
	     sqlite3_exec(db, schema_stacks_sql, NULL, NULL, NULL) != SQLITE_OK ||
	     sqlite3_exec(db,
			  "CREATE TABLE caller(part INTEGER PRIMARY KEY, size INTEGER, rows BLOB)",
			  NULL, NULL, NULL) != SQLITE_OK))
		abort();
	if (sqlite3_exec(
		    db,
		    "DELETE FROM call; DELETE FROM conflict; DELETE FROM caller; DELETE FROM frame;"
		    "DELETE FROM stack; DELETE FROM stack_thread",
		    NULL, NULL, NULL) != SQLITE_OK)
		abort();
	return db;
}

/* What rows refer to: a thread, and frames before samples. */
static void add_others(sqlite3 *db, unsigned table)
{
	static uint8_t frames[] = { 2, 2, 0, 0, 1, 2, 3, 4 }; /* parents and kinds of two frames */
	const struct buffer b = { frames, sizeof(frames), sizeof(frames) };

	if (sqlite3_exec(db, "INSERT INTO stack_thread VALUES(0, 0, 1, 1, 'x', '')", NULL, NULL,
			 NULL) != SQLITE_OK)
		abort();
	if (table == 4 && packed_insert(db, insert[3], 1, &b, 0) != SQLITE_OK)
		abort();
}

static void read_all(sqlite3 *db, struct profile *p)
{
	struct budget budget = { 0 };
	const struct pairs_to pairs = { p, map, 3, &budget };
	const struct stack_rows_to stacks = { p, 0, map, 3, &budget };
	const char *what;
	int code;

	pairs_read(db, &pairs, &what);
	caller_rows_read(db, p, map, 3, &budget, &code);
	stack_rows_read(db, &stacks, &code);
}

/* What was read is written, as another recording. */
static void write_all(const struct profile *p)
{
	struct stack_rows done = { 0 };
	sqlite3 *db = empty();

	if (pairs_write(db, p, 0) != SQLITE_OK || caller_rows_write(db, p, 0) != SQLITE_OK ||
	    stack_rows_replace(db, &p->stacks, &done, 0) != SQLITE_OK)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned table = size ? data[0] % TABLES : 0;
	struct buffer b = { .p = (uint8_t *)(uintptr_t)data + 1, .n = size - 1 };
	struct profile p, q;
	struct err err;
	sqlite3 *db;

	if (size < 2 || profile_init(&p, &err))
		return 0;
	profile_run(&p);
	db = empty();
	if (packed_insert(db, insert[table], table == 4 ? STACKS_WIDTH : 1, &b, 0) != SQLITE_OK)
		abort();
	add_others(db, table);
	read_all(db, &p);
	write_all(&p);
	if (!profile_init(&q, &err)) {
		snapshot_read_edges(b.p, b.n, &q, map, 3, &err);
		profile_fini(&q);
	}
	profile_fini(&p);
	return 0;
}
