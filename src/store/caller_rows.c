/* SPDX-License-Identifier: MIT */
#include "store/caller_rows.h"

#include <stdlib.h>

#include "base/columns.h"

#define PART (1u << 20) /* bytes of a row before compression, about */
#define WINDOWS_LEAST 2

enum {
	IMAGE,
	ADDRESS,
	CALLER_IMAGE,
	CALLER_ADDRESS,
	OBSERVED,
	WINDOWS,
	OPERANDS,
	FIELDS,
	COLUMNS = FIELDS + HOT_COLUMNS
};
_Static_assert(COLUMNS <= COLUMNS_MAX, "columns of callers");

/* Writing. */

static bool put(struct buffer *column, const struct caller *c, enum hot_extent extent,
		uint64_t *last)
{
	uint64_t v[FIELDS] = {
		[IMAGE] = c->key.site.image,
		[ADDRESS] = zigzag((int64_t)(c->key.site.addr - *last)),
		[CALLER_IMAGE] = c->key.caller.image,
		[CALLER_ADDRESS] = zigzag((int64_t)(c->key.caller.addr - c->key.site.addr)),
		[OBSERVED] = c->observed,
		[WINDOWS] = c->windows,
	};

	for (int i = 0; i < OPERAND_N; i++)
		v[OPERANDS] |= (caller_hot(c, i) ? 1ull : 0) << i;
	for (int i = 0; i < FIELDS; i++)
		if (!column_put(&column[i], v[i]))
			return false;
	*last = c->key.site.addr;
	for (int i = 0; i < OPERAND_N; i++)
		if (caller_hot(c, i) && !hot_encode(caller_hot(c, i), extent, &column[FIELDS]))
			return false;
	return true;
}

static int write_part(sqlite3 *db, struct columns *columns, uint64_t patience)
{
	return packed_columns(db, "INSERT INTO caller(size, rows) VALUES(?,?)", 0, columns,
			      patience);
}

static int write_rows(sqlite3 *db, const struct profile *p, uint64_t patience)
{
	struct columns columns = { .n = COLUMNS };
	uint64_t last = 0;
	int rc = SQLITE_OK;

	for (size_t i = 0; i < callers_count(p) && rc == SQLITE_OK; i++) {
		const struct caller *c = &p->callers->v[i];

		if (c->windows < WINDOWS_LEAST)
			continue;
		if (!put(columns.of, c, profile_extent(p), &last))
			rc = SQLITE_NOMEM;
		if (rc != SQLITE_OK || columns_size(&columns) < PART)
			continue;
		rc = write_part(db, &columns, patience);
		last = 0;
	}
	if (rc == SQLITE_OK)
		rc = write_part(db, &columns, patience);
	columns_fini(&columns);
	return rc;
}

int caller_rows_write(sqlite3 *db, const struct profile *p, uint64_t patience)
{
	static const char make[] =
		"CREATE TABLE IF NOT EXISTS caller(part INTEGER PRIMARY KEY, size INTEGER,"
		" rows BLOB); DELETE FROM caller";
	int rc = SQLITE_OK;

	if (!p->callers)
		return rc;
	rc = sqlite3_exec(db, make, NULL, NULL, NULL);
	return rc == SQLITE_OK ? write_rows(db, p, patience) : rc;
}

/* Reading: everything is validated. */

struct rows {
	struct profile *p;
	const uint32_t *map;
	size_t nmap;
	struct budget *budget;
};

static bool get_fields(const struct rows *r, struct cursor *column, uint64_t v[FIELDS])
{
	for (int i = 0; i < FIELDS; i++)
		if (!varint_get(&column[i], &v[i]))
			return false;
	return v[IMAGE] < r->nmap && v[CALLER_IMAGE] < r->nmap && v[OBSERVED] <= COUNT_MAX &&
	       v[WINDOWS] <= v[OBSERVED] && !(v[OPERANDS] >> OPERAND_N);
}

/* A list has no more observations than there were executions. */
static const char *get_lists(struct cursor *column, struct caller *to, uint64_t have,
			     uint64_t observed)
{
	for (; have; have &= have - 1) {
		struct hot *one, **h;
		struct err err;

		one = hot_decode(&column[FIELDS], &err);
		if (!one)
			return "values by caller";
		if (hot_total(one) > observed) {
			hot_free(one);
			return "values by caller";
		}
		h = caller_operand(to, __builtin_ctzll(have));
		if (!h || (*h && hot_merge(*h, one))) {
			hot_free(one);
			return "no memory";
		}
		if (*h)
			hot_free(one);
		else
			*h = one;
	}
	return NULL;
}

static const char *take_rows(const struct rows *r, const struct buffer *b)
{
	struct cursor column[COLUMNS_MAX];
	uint64_t last = 0, v[FIELDS];
	const char *why = NULL;

	if (!columns_split(column, COLUMNS, b->p, b->n))
		return "values by caller";
	while (!why && !columns_ended(column, COLUMNS)) {
		struct caller_key key = { .site.image = 0 };
		struct caller *to;

		if (!get_fields(r, column, v))
			return "values by caller";
		last += (uint64_t)unzigzag(v[ADDRESS]);
		key.site = (struct site_id){ .image = r->map[v[IMAGE]], .addr = last };
		key.caller =
			(struct site_id){ .image = r->map[v[CALLER_IMAGE]],
					  .addr = last + (uint64_t)unzigzag(v[CALLER_ADDRESS]) };
		to = callers_get(r->p, &key);
		if (!to)
			return callers_count(r->p) < CALLERS_MAX ? "no memory" : "too many callers";
		to->observed += v[OBSERVED];
		to->windows += v[WINDOWS];
		why = get_lists(column, to, v[OPERANDS], v[OBSERVED]);
	}
	return why;
}

static const char *read_part(const struct rows *r, sqlite3_stmt *s, struct buffer *b)
{
	switch (packed_read(s, PACKED_ROW, r->budget, BUDGET_KEPT, b)) {
	case PACKED_OK:
		return take_rows(r, b);
	case PACKED_TOO_LARGE:
		return "values by caller expand to more than their size allows";
	case PACKED_MEMORY:
		return "no memory";
	default:
		return "values by caller";
	}
}

const char *caller_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     struct budget *budget, int *code)
{
	const struct rows r = { p, map, nmap, budget };
	struct buffer b = { 0 };
	const char *why = NULL;
	sqlite3_stmt *s;

	*code = sqlite3_prepare_v2(db, "SELECT size, rows FROM caller ORDER BY part", -1, &s, NULL);
	if (*code != SQLITE_OK)
		return NULL;
	while (!why && (*code = sqlite3_step(s)) == SQLITE_ROW)
		why = read_part(&r, s, &b);
	sqlite3_finalize(s);
	free(b.p);
	if (why || *code == SQLITE_DONE)
		*code = SQLITE_OK;
	return why;
}
