/* SPDX-License-Identifier: MIT */
/* Numbers by column, times, and compressed rows of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/columns.h"
#include "store/packed.h"
#include "store/times.h"

#define ROWS 1000

/* Three columns: one of all rows, one of no row, one of every third row. */
static void fill(struct columns *c)
{
	for (uint64_t i = 0; i < ROWS; i++) {
		assert_true(column_put(&c->of[0], i * i * i));
		if (i % 3 == 0)
			assert_true(column_put(&c->of[2], UINT64_MAX - i));
	}
}

static void test_columns(void **unused)
{
	struct columns c = { .n = 3 };
	struct cursor column[3];
	struct buffer b = { 0 };
	uint64_t v;

	(void)unused;
	for (int again = 0; again < 2; again++) {
		fill(&c);
		b.n = 0;
		assert_true(columns_join(&c, &b));
		assert_int_equal(columns_size(&c), 0);
		assert_true(columns_split(column, 3, b.p, b.n));
		assert_ptr_equal(column[1].p, column[1].end);
		for (uint64_t i = 0; i < ROWS; i++) {
			assert_false(columns_ended(column, 3));
			assert_true(varint_get(&column[0], &v) && v == i * i * i);
			if (i % 3 == 0)
				assert_true(varint_get(&column[2], &v) && v == UINT64_MAX - i);
		}
		assert_true(columns_ended(column, 3));
	}
	columns_fini(&c);
	free(b.p);
}

static void test_no_columns(void **unused)
{
	static const struct {
		const char *what;
		uint8_t n, p[12];
	} bytes[] = {
		{ "nothing", 0, { 0 } },
		{ "two lengths", 2, { 0, 0 } },
		{ "a length without end", 3, { 0, 0, 0x80 } },
		{ "less than the lengths say", 4, { 1, 0, 1, 7 } },
		{ "more than the lengths say", 6, { 1, 0, 1, 7, 7, 7 } },
		{ "a length above all",
		  12,
		  { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0 } },
	};
	struct cursor column[3];

	(void)unused;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		if (columns_split(column, 3, bytes[i].p, bytes[i].n))
			fail_msg("accepted: %s", bytes[i].what);
	assert_true(columns_split(column, 3, (const uint8_t *)"\0\0\0", 3));
	assert_true(columns_ended(column, 3));
}

/* Times come back to the last bit, and those of samples that stand for equally much are 0. */
static void test_times(void **unused)
{
	static const struct {
		double time;
		uint64_t samples;
	} v[] = { { 1003009, 1 },   { 3 * 1003009.0, 3 },
		  { 0, 0 },	    { 7 * 1003009.0, 7 },
		  { 0.1 + 0.2, 3 }, { 17, 0 },
		  { 1e300, 1 },	    { 1e300 * 1e300, 100 /* infinity */ },
		  { 5, 5 } };
	struct times to = { 0 }, from = { 0 };

	(void)unused;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		uint64_t number = times_put(&to, v[i].time, v[i].samples);
		double back = times_get(&from, number, v[i].samples);

		assert_memory_equal(&back, &v[i].time, sizeof(back));
		assert_true((number == 0) == (i == 1 || i == 2 || i == 3));
	}
}

static sqlite3 *db;

static int open_db(void **unused)
{
	(void)unused;
	return sqlite3_open(":memory:", &db) ||
	       sqlite3_exec(db,
			    "CREATE TABLE t(part INTEGER PRIMARY KEY, number INTEGER, size "
			    "INTEGER, blob BLOB)",
			    NULL, NULL, NULL);
}

static int close_db(void **unused)
{
	(void)unused;
	return sqlite3_close(db);
}

/* The row's blob, by a budget of its own. */
static enum packed_result read_row(int part, size_t most, struct buffer *to)
{
	struct budget budget = { 0 };
	enum packed_result result;
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT size, blob, number FROM t WHERE part = ?",
					    -1, &s, NULL),
			 SQLITE_OK);
	sqlite3_bind_int(s, 1, part);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(s, 2), part == 2 ? 77 : 0);
	result = packed_read(s, most, &budget, BUDGET_KEPT, to);
	sqlite3_finalize(s);
	return result;
}

static int64_t stored(int part)
{
	sqlite3_stmt *s;
	int64_t n;

	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT length(blob) FROM t WHERE part = ?", -1, &s, NULL),
		SQLITE_OK);
	sqlite3_bind_int(s, 1, part);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

static void test_rows(void **unused)
{
	static const char sql[] = "INSERT INTO t(size, blob, number) VALUES(?,?,0)";
	struct buffer b = { 0 }, back = { 0 };
	uint64_t state = 1;

	(void)unused;
	assert_int_equal(packed_insert(db, sql, 0, &b, 0), SQLITE_OK); /* no row */
	for (int i = 0; i < 50000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		assert_true(column_put(&b, (state >> 60) * (state >> 60)));
	}
	assert_int_equal(packed_insert(db, sql, 0, &b, 0), SQLITE_OK);
	assert_int_equal(packed_insert(db, "INSERT INTO t(size, blob, number) VALUES(?,?,?)", 77,
				       &b, 1000000000),
			 SQLITE_OK);
	assert_true(stored(2) < stored(1)); /* who has time writes less */
	for (int part = 1; part <= 2; part++) {
		assert_int_equal(read_row(part, b.n, &back), PACKED_OK);
		assert_int_equal(back.n, b.n);
		assert_memory_equal(back.p, b.p, b.n);
		assert_int_equal(read_row(part, b.n - 1, &back), PACKED_MALFORMED);
	}
	sqlite3_exec(db,
		     "UPDATE t SET size = size + 1 WHERE part = 1; UPDATE t SET blob = NULL WHERE "
		     "part = 2",
		     NULL, NULL, NULL);
	for (int part = 1; part <= 2; part++)
		assert_int_equal(read_row(part, 1 << 20, &back), PACKED_MALFORMED);
	free(b.p);
	free(back.p);
}

/* Columns are stored as what columns_join() makes of them, whichever of them are empty. */
static void test_rows_of_columns(void **unused)
{
	struct columns c = { .n = 4 };
	struct buffer joined = { 0 }, back = { 0 };

	(void)unused;
	assert_int_equal(packed_columns(db, "no row, and no statement", 0, &c, 0), SQLITE_OK);
	for (int part = 1; part <= 2; part++) {
		struct columns again = { .n = 4 };

		for (uint64_t i = 0; i < 200000; i++)
			assert_true(column_put(&c.of[1], i * i % 1000) &&
				    column_put(&c.of[part + 1], i << 40) &&
				    column_put(&again.of[1], i * i % 1000) &&
				    column_put(&again.of[part + 1], i << 40));
		joined.n = 0;
		assert_true(columns_join(&again, &joined));
		columns_fini(&again);
		assert_int_equal(packed_columns(db,
						"INSERT INTO t(size, blob, number) VALUES(?,?,?)",
						part == 2 ? 77 : 0, &c, part == 1 ? 0 : 1000000000),
				 SQLITE_OK);
		assert_int_equal(columns_size(&c), 0);
		assert_int_equal(read_row(part, joined.n, &back), PACKED_OK);
		assert_int_equal(back.n, joined.n);
		assert_memory_equal(back.p, joined.p, joined.n);
	}
	columns_fini(&c);
	free(joined.p);
	free(back.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_no_columns),
		cmocka_unit_test(test_times),
		cmocka_unit_test_setup_teardown(test_rows, open_db, close_db),
		cmocka_unit_test_setup_teardown(test_rows_of_columns, open_db, close_db),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
