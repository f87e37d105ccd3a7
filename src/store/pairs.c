/* SPDX-License-Identifier: MIT */
#include "store/pairs.h"

#include <stdlib.h>

#include "base/columns.h"
#include "observe/calls.h"
#include "observe/conflicts.h"

#define PART (1u << 20) /* bytes of a part before compression, about */
#define PAIR_IDS 4

enum {
	PAIR_IMAGE,
	PAIR_ADDRESS,
	PAIR_TO_IMAGE,
	PAIR_TO_ADDRESS
};
enum {
	CALL_OPERANDS = PAIR_IDS,
	CALL_LISTS,
	CALL_COLUMNS = CALL_LISTS + HOT_COLUMNS
};
enum {
	CONFLICT_KIND = PAIR_IDS,
	CONFLICT_COUNT,
	CONFLICT_NEAREST,
	CONFLICT_FARTHER,
	CONFLICT_DISTANCES,
	CONFLICT_COLUMNS
};
_Static_assert(CALL_COLUMNS <= COLUMNS_MAX, "columns of calls");

/* Writing rows. */

struct writer {
	sqlite3 *db;
	const char *insert;
	uint64_t patience;
	struct columns columns;
	uint64_t last; /* address of the pair before */
	enum hot_extent extent;
};

/* Writes a part that is full, or the last one. An SQLite code. */
static int write_part(struct writer *w, bool last)
{
	if (!last && columns_size(&w->columns) < PART)
		return SQLITE_OK;
	w->last = 0;
	return packed_columns(w->db, w->insert, 0, &w->columns, w->patience);
}

static bool put_ids(struct writer *w, struct site_id a, struct site_id b)
{
	struct buffer *column = w->columns.of;
	uint64_t from = w->last;

	w->last = a.addr;
	return column_put(&column[PAIR_IMAGE], a.image) &&
	       column_put(&column[PAIR_ADDRESS], zigzag((int64_t)(a.addr - from))) &&
	       column_put(&column[PAIR_TO_IMAGE], b.image) &&
	       column_put(&column[PAIR_TO_ADDRESS], zigzag((int64_t)(b.addr - a.addr)));
}

static int by_call(const void *a, const void *b)
{
	const struct call_key *x = &(*(const struct call *const *)a)->key;
	const struct call_key *y = &(*(const struct call *const *)b)->key;
	int order = site_id_order(x->from, y->from);

	return order ? order : site_id_order(x->to, y->to);
}

static bool put_call(struct writer *w, const struct call *c)
{
	struct buffer *column = w->columns.of;
	unsigned have = 0;

	for (unsigned i = 0; i < CALL_VALUES; i++)
		have |= (c->value[i] ? 1u : 0) << i;
	if (!put_ids(w, c->key.from, c->key.to) || !column_put(&column[CALL_OPERANDS], have))
		return false;
	for (unsigned i = 0; i < CALL_VALUES; i++)
		if (c->value[i] && !hot_encode(c->value[i], w->extent, &column[CALL_LISTS]))
			return false;
	return true;
}

/* Calls are written in the order of their keys, in which neighbours are alike. */
static int write_calls(struct writer *w, const struct profile *p)
{
	const struct call **list = calloc(HASH_COUNT(p->calls) + 1, sizeof(const struct call *));
	struct call *c, *tmp;
	int rc = SQLITE_OK;
	size_t n = 0;

	if (!list)
		return SQLITE_NOMEM;
	HASH_ITER (hh, p->calls, c, tmp)
		list[n++] = c;
	qsort(list, n, sizeof(*list), by_call);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = put_call(w, list[i]) ? write_part(w, false) : SQLITE_NOMEM;
	free(list);
	return rc;
}

static int by_conflict(const void *a, const void *b)
{
	const struct conflict_key *x = &(*(const struct conflict *const *)a)->key;
	const struct conflict_key *y = &(*(const struct conflict *const *)b)->key;
	int order = site_id_order(x->load, y->load);

	return order ? order : site_id_order(x->store, y->store);
}

static bool put_conflict(struct writer *w, const struct conflict *c)
{
	struct buffer *column = w->columns.of;

	return put_ids(w, c->key.load, c->key.store) &&
	       column_put(&column[CONFLICT_KIND], c->key.kind) &&
	       column_put(&column[CONFLICT_COUNT], c->count) &&
	       column_put(&column[CONFLICT_NEAREST], c->nearest) &&
	       column_put(&column[CONFLICT_FARTHER], c->farthest - c->nearest) &&
	       column_put(&column[CONFLICT_DISTANCES],
			  zigzag((int64_t)(c->distance - c->count * c->nearest)));
}

static int write_conflicts(struct writer *w, const struct profile *p)
{
	const struct conflict **list =
		calloc(HASH_COUNT(p->conflicts) + 1, sizeof(const struct conflict *));
	struct conflict *c, *tmp;
	int rc = SQLITE_OK;
	size_t n = 0;

	if (!list)
		return SQLITE_NOMEM;
	HASH_ITER (hh, p->conflicts, c, tmp)
		list[n++] = c;
	qsort(list, n, sizeof(*list), by_conflict);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = put_conflict(w, list[i]) ? write_part(w, false) : SQLITE_NOMEM;
	free(list);
	return rc;
}

static int write_table(struct writer w, const struct profile *p,
		       int (*write)(struct writer *, const struct profile *))
{
	int rc;

	w.extent = profile_extent(p);
	rc = write(&w, p);
	if (rc == SQLITE_OK)
		rc = write_part(&w, true);
	columns_fini(&w.columns);
	return rc;
}

int pairs_write(sqlite3 *db, const struct profile *p, uint64_t patience)
{
	int rc = sqlite3_exec(db, "DELETE FROM call; DELETE FROM conflict", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = write_table(
			(struct writer){ .db = db,
					 .insert = "INSERT INTO call(size, calls) VALUES(?,?)",
					 .patience = patience,
					 .columns.n = CALL_COLUMNS },
			p, write_calls);
	if (rc == SQLITE_OK)
		rc = write_table(
			(struct writer){
				.db = db,
				.insert = "INSERT INTO conflict(size, conflicts) VALUES(?,?)",
				.patience = patience,
				.columns.n = CONFLICT_COLUMNS },
			p, write_conflicts);
	return rc;
}

/* Reading rows. */

struct reader {
	const struct pairs_to *to;
	struct cursor column[COLUMNS_MAX];
	uint64_t last;
};

static bool get(struct reader *r, unsigned column, uint64_t max, uint64_t *v)
{
	return varint_get(&r->column[column], v) && *v <= max;
}

static bool get_ids(struct reader *r, struct site_id *a, struct site_id *b)
{
	uint64_t v[PAIR_IDS];

	for (unsigned i = 0; i < PAIR_IDS; i++)
		if (!varint_get(&r->column[i], &v[i]))
			return false;
	if (v[PAIR_IMAGE] >= r->to->nmap || v[PAIR_TO_IMAGE] >= r->to->nmap)
		return false;
	r->last += (uint64_t)unzigzag(v[PAIR_ADDRESS]);
	*a = (struct site_id){ .image = r->to->map[v[PAIR_IMAGE]], .addr = r->last };
	*b = (struct site_id){ .image = r->to->map[v[PAIR_TO_IMAGE]],
			       .addr = r->last + (uint64_t)unzigzag(v[PAIR_TO_ADDRESS]) };
	return true;
}

static enum pairs_result read_call(struct reader *r)
{
	struct site_id from, to;
	struct call *call;
	uint64_t have;

	if (!get_ids(r, &from, &to) || !get(r, CALL_OPERANDS, (1u << CALL_VALUES) - 1, &have))
		return PAIRS_MALFORMED;
	call = calls_get(r->to->p, from, to);
	if (!call)
		return PAIRS_MEMORY;
	for (; have; have &= have - 1) {
		struct hot **h = &call->value[__builtin_ctzll(have)];
		struct err ignored;

		if (*h)
			return PAIRS_MALFORMED;
		*h = hot_decode(&r->column[CALL_LISTS], &ignored);
		if (!*h)
			return PAIRS_MALFORMED;
	}
	return PAIRS_OK;
}

static enum pairs_result read_conflict(struct reader *r)
{
	uint64_t kind, count, nearest, farther, distances, distance;
	struct site_id load, store;
	struct conflict *c;

	if (!get_ids(r, &load, &store) || !get(r, CONFLICT_KIND, CONFLICT_KIND_N - 1, &kind) ||
	    !get(r, CONFLICT_COUNT, COUNT_MAX, &count) ||
	    !get(r, CONFLICT_NEAREST, CONFLICT_DISTANCE_MAX, &nearest) ||
	    !get(r, CONFLICT_FARTHER, CONFLICT_DISTANCE_MAX - nearest, &farther) ||
	    !get(r, CONFLICT_DISTANCES, UINT64_MAX, &distances))
		return PAIRS_MALFORMED;
	distance = count * nearest + (uint64_t)unzigzag(distances);
	if (distance > COUNT_MAX || distance / CONFLICT_DISTANCE_MAX > count)
		return PAIRS_MALFORMED;
	c = conflicts_get(r->to->p, (enum conflict_kind)kind, store, load);
	if (!c)
		return PAIRS_MEMORY;
	conflicts_add(c, count, distance, (uint32_t)nearest, (uint32_t)(nearest + farther));
	return PAIRS_OK;
}

struct table {
	const char *name, *sql;
	unsigned columns;
	enum pairs_result (*read)(struct reader *);
};

static enum pairs_result read_part(const struct pairs_to *to, const struct table *t,
				   const struct buffer *b)
{
	enum pairs_result result = PAIRS_OK;
	struct reader r = { .to = to };

	if (!columns_split(r.column, t->columns, b->p, b->n))
		return PAIRS_MALFORMED;
	while (!result && !columns_ended(r.column, t->columns))
		result = t->read(&r);
	return result;
}

static enum pairs_result read_row(const struct pairs_to *to, const struct table *t, sqlite3_stmt *s,
				  struct buffer *b)
{
	switch (packed_read(s, PACKED_ROW, to->budget, BUDGET_KEPT, b)) {
	case PACKED_OK:
		return read_part(to, t, b);
	case PACKED_TOO_LARGE:
		return PAIRS_TOO_LARGE;
	case PACKED_MEMORY:
		return PAIRS_MEMORY;
	default:
		return PAIRS_MALFORMED;
	}
}

static enum pairs_result read_table(sqlite3 *db, const struct pairs_to *to, const struct table *t)
{
	enum pairs_result result = PAIRS_OK;
	struct buffer b = { 0 };
	sqlite3_stmt *s;
	int rc = SQLITE_ROW;

	if (sqlite3_prepare_v2(db, t->sql, -1, &s, NULL) != SQLITE_OK)
		return PAIRS_DATABASE;
	while (!result && (rc = sqlite3_step(s)) == SQLITE_ROW)
		result = read_row(to, t, s, &b);
	sqlite3_finalize(s);
	free(b.p);
	return !result && rc != SQLITE_DONE ? PAIRS_DATABASE : result;
}

enum pairs_result pairs_read(sqlite3 *db, const struct pairs_to *to, const char **what)
{
	static const struct table table[] = {
		{ "call", "SELECT size, calls FROM call ORDER BY part", CALL_COLUMNS, read_call },
		{ "conflict", "SELECT size, conflicts FROM conflict ORDER BY part",
		  CONFLICT_COLUMNS, read_conflict },
	};
	enum pairs_result result = PAIRS_OK;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !result; i++) {
		*what = table[i].name;
		result = read_table(db, to, &table[i]);
	}
	return result;
}
