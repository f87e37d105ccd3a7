/* SPDX-License-Identifier: MIT */
#include "store/model_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/distances.h"
#include "observe/misses.h"
#include "store/varint.h"

#define SQL_MAX 1024

/* Writing. */

static bool step(sqlite3_stmt *s)
{
	bool done = sqlite3_step(s) == SQLITE_DONE;

	sqlite3_reset(s);
	return done;
}

static void bind_site(sqlite3_stmt *s, struct site_id id)
{
	sqlite3_bind_int64(s, 1, id.image);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)id.addr);
}

/* Those that are not 0: number, from the one before, and count. */
static size_t encode(const uint64_t *count, unsigned n, uint8_t *to)
{
	struct buffer b = { .p = to };
	unsigned last = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!count[i])
			continue;
		varint_put(&b, i - last);
		varint_put(&b, count[i]);
		last = i;
	}
	return b.n;
}

static bool write_misses(sqlite3_stmt *s, const struct profile *p)
{
	struct misses *m, *tmp;

	HASH_ITER (hh, p->misses, m, tmp) {
		bool any = false;

		bind_site(s, m->key);
		for (unsigned i = 0; i < MISS_KIND_N; i++) {
			sqlite3_bind_int64(s, 3 + (int)i, (sqlite3_int64)m->n[i]);
			any |= m->n[i] != 0;
		}
		if (any && !step(s))
			return false;
	}
	return true;
}

static bool write_distances(sqlite3_stmt *s, const struct profile *p)
{
	uint8_t blob[DISTANCE_BUCKETS * 2 * VARINT_MAX];

	for (size_t i = 0; i < p->ndistances; i++) {
		const struct distances *d = p->distances[i];

		sqlite3_bind_int64(s, 1, d->run);
		sqlite3_bind_int64(s, 2, (sqlite3_int64)i);
		sqlite3_bind_int64(s, 3, d->pid);
		sqlite3_bind_int64(s, 4, d->line);
		sqlite3_bind_int64(s, 5, (sqlite3_int64)d->cold);
		sqlite3_bind_blob(s, 6, blob, (int)encode(d->bucket, DISTANCE_BUCKETS, blob),
				  SQLITE_STATIC);
		if (!step(s))
			return false;
	}
	return true;
}

static bool write_site_distances(sqlite3_stmt *s, const struct profile *p)
{
	uint8_t blob[DISTANCE_OCTAVES * 2 * VARINT_MAX];
	struct site_distances *d, *tmp;

	HASH_ITER (hh, p->site_distances, d, tmp) {
		size_t n = encode(d->octave, DISTANCE_OCTAVES, blob);

		if (!n && !d->cold)
			continue;
		bind_site(s, d->key);
		sqlite3_bind_int64(s, 3, (sqlite3_int64)d->cold);
		sqlite3_bind_blob(s, 4, blob, (int)n, SQLITE_STATIC);
		if (!step(s))
			return false;
	}
	return true;
}

static bool write_table(sqlite3 *db, const struct profile *p, const char *table, unsigned columns,
			bool (*write)(sqlite3_stmt *, const struct profile *))
{
	char sql[SQL_MAX];
	sqlite3_stmt *s;
	bool ok;
	int n;

	snprintf(sql, sizeof(sql), "DELETE FROM %s", table);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return false;
	n = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table);
	for (unsigned i = 1; i < columns; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, ",?");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return false;
	ok = write(s, p);
	sqlite3_finalize(s);
	return ok;
}

bool model_rows_write(sqlite3 *db, const struct profile *p)
{
	return (!p->misses || write_table(db, p, "miss", 2 + MISS_KIND_N, write_misses)) &&
	       (!p->ndistances || write_table(db, p, "distance", 6, write_distances)) &&
	       (!p->site_distances || write_table(db, p, "site_distance", 4, write_site_distances));
}

/* Reading. */

struct rows {
	sqlite3 *db;
	struct profile *p;
	const uint32_t *map;
	size_t nmap, first_run;
};

static bool site_at(const struct rows *r, sqlite3_stmt *s, struct site_id *id)
{
	int64_t image = sqlite3_column_int64(s, 0);

	if (image < 0 || (size_t)image >= r->nmap)
		return false;
	*id = (struct site_id){ .image = r->map[image],
				.addr = (uint64_t)sqlite3_column_int64(s, 1) };
	return true;
}

static bool count_at(sqlite3_stmt *s, int at, uint64_t *v)
{
	*v = (uint64_t)sqlite3_column_int64(s, at);
	return *v <= COUNT_MAX;
}

/* Adds what `encode` wrote. */
static bool decode(sqlite3_stmt *s, int at, uint64_t *count, unsigned n)
{
	const uint8_t *p = sqlite3_column_blob(s, at);
	struct cursor c = { p, p ? p + sqlite3_column_bytes(s, at) : p };
	uint64_t i = 0;

	while (c.p < c.end) {
		uint64_t step, v;

		if (!varint_get(&c, &step) || !varint_get(&c, &v) || step >= n ||
		    (i += step) >= n || v > COUNT_MAX)
			return false;
		count[i] += v;
	}
	return true;
}

static enum pairs_result read_miss(const struct rows *r, sqlite3_stmt *s)
{
	struct site_id id;
	struct misses *m;

	if (!site_at(r, s, &id))
		return PAIRS_MALFORMED;
	m = misses_get(r->p, id);
	if (!m)
		return PAIRS_MEMORY;
	for (unsigned i = 0; i < MISS_KIND_N; i++) {
		uint64_t v;

		if (!count_at(s, 2 + (int)i, &v))
			return PAIRS_MALFORMED;
		m->n[i] += v;
	}
	return PAIRS_OK;
}

static enum pairs_result read_distance(const struct rows *r, sqlite3_stmt *s)
{
	uint64_t run = (uint64_t)sqlite3_column_int64(s, 0), line, pid, cold;
	struct distances *d;

	if (run >= r->p->nrun - r->first_run || !count_at(s, 2, &pid) || pid > UINT32_MAX ||
	    !count_at(s, 3, &line) || line < 1 || line > 1u << 30 || line & (line - 1) ||
	    !count_at(s, 4, &cold))
		return PAIRS_MALFORMED;
	d = distances_new(r->p);
	if (!d)
		return PAIRS_MEMORY;
	d->run = (uint32_t)(run + r->first_run);
	d->pid = (uint32_t)pid;
	d->line = (uint32_t)line;
	d->cold = cold;
	return decode(s, 5, d->bucket, DISTANCE_BUCKETS) ? PAIRS_OK : PAIRS_MALFORMED;
}

static enum pairs_result read_site_distance(const struct rows *r, sqlite3_stmt *s)
{
	struct site_distances *d;
	struct site_id id;
	uint64_t cold;

	if (!site_at(r, s, &id) || !count_at(s, 2, &cold))
		return PAIRS_MALFORMED;
	d = distances_site(r->p, id);
	if (!d)
		return PAIRS_MEMORY;
	d->cold += cold;
	return decode(s, 3, d->octave, DISTANCE_OCTAVES) ? PAIRS_OK : PAIRS_MALFORMED;
}

/* Older recordings have none of the tables. */
static bool is_there(sqlite3 *db, const char *name)
{
	sqlite3_stmt *s;
	bool there;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_schema WHERE name=?", -1, &s, NULL) !=
	    SQLITE_OK)
		return true;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	there = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return there;
}

#define X(id, name, what) ", " name

enum pairs_result model_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
				  size_t first_run, const char **what)
{
	static const struct {
		const char *name, *sql;
		enum pairs_result (*row)(const struct rows *, sqlite3_stmt *);
	} table[] = {
		{ "miss", "SELECT image, address" MISSES(X) " FROM miss", read_miss },
		{ "distance", "SELECT run, number, pid, line, cold, buckets FROM distance",
		  read_distance },
		{ "site_distance", "SELECT image, address, cold, octaves FROM site_distance",
		  read_site_distance },
	};
	const struct rows r = { db, p, map, nmap, first_run };
	enum pairs_result result = PAIRS_OK;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !result; i++) {
		sqlite3_stmt *s;
		int rc = SQLITE_ROW;

		*what = table[i].name;
		if (!is_there(db, *what))
			continue;
		if (sqlite3_prepare_v2(db, table[i].sql, -1, &s, NULL) != SQLITE_OK)
			return PAIRS_DATABASE;
		while (!result && (rc = sqlite3_step(s)) == SQLITE_ROW)
			result = table[i].row(&r, s);
		sqlite3_finalize(s);
		if (!result && rc != SQLITE_DONE)
			result = PAIRS_DATABASE;
	}
	return result;
}

#undef X
