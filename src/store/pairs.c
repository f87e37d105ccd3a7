/* SPDX-License-Identifier: MIT */
#include "store/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "observe/calls.h"
#include "observe/conflicts.h"
#include "base/varint.h"

/* Writing rows. */

static void bind_site(sqlite3_stmt *s, int at, struct site_id id)
{
	sqlite3_bind_int64(s, at, id.image);
	sqlite3_bind_int64(s, at + 1, (sqlite3_int64)id.addr);
}

static bool step(sqlite3_stmt *s)
{
	bool done = sqlite3_step(s) == SQLITE_DONE;

	sqlite3_reset(s);
	return done;
}

/* Encodes operand numbers and hot lists, one after the other. */
static bool encode(struct buffer *b, const struct call *c)
{
	b->n = 0;
	for (unsigned i = 0; i < CALL_VALUES; i++) {
		if (!c->value[i])
			continue;
		if (!buffer_room(b, VARINT_MAX + hot_encoded_max(c->value[i])))
			return false;
		varint_put(b, OPERAND_RETURN + i);
		b->n += hot_encode(c->value[i], b->p + b->n);
	}
	return true;
}

/* Rows in the order of their keys fill the pages of a table; those in another order fill half of them. */

static int by_call(const void *a, const void *b)
{
	const struct call_key *x = &(*(const struct call *const *)a)->key;
	const struct call_key *y = &(*(const struct call *const *)b)->key;
	int order = site_id_order(x->from, y->from);

	return order ? order : site_id_order(x->to, y->to);
}

static bool write_call(sqlite3_stmt *s, struct buffer *b, const struct call *c)
{
	if (!encode(b, c))
		return false;
	bind_site(s, 1, c->key.from);
	bind_site(s, 3, c->key.to);
	sqlite3_bind_blob(s, 5, b->p ? b->p : (void *)"", (int)b->n, SQLITE_STATIC);
	return step(s);
}

static bool write_calls(sqlite3_stmt *s, const struct profile *p)
{
	const struct call **list = calloc(HASH_COUNT(p->calls) + 1, sizeof(const struct call *));
	struct buffer b = { 0 };
	struct call *c, *tmp;
	bool ok = list;
	size_t n = 0;

	if (!list)
		return false;
	HASH_ITER (hh, p->calls, c, tmp)
		list[n++] = c;
	qsort(list, n, sizeof(const struct call *), by_call);
	for (size_t i = 0; i < n && ok; i++)
		ok = write_call(s, &b, list[i]);
	free(b.p);
	free(list);
	return ok;
}

static int by_conflict(const void *a, const void *b)
{
	const struct conflict_key *x = &(*(const struct conflict *const *)a)->key;
	const struct conflict_key *y = &(*(const struct conflict *const *)b)->key;
	int order = site_id_order(x->load, y->load);

	return order ? order : site_id_order(x->store, y->store);
}

static bool write_conflict(sqlite3_stmt *s, const struct conflict *c)
{
	bind_site(s, 1, c->key.load);
	bind_site(s, 3, c->key.store);
	sqlite3_bind_text(s, 5, conflict_kind_name[c->key.kind], -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, (sqlite3_int64)c->count);
	sqlite3_bind_int64(s, 7, (sqlite3_int64)c->distance);
	sqlite3_bind_int64(s, 8, c->nearest);
	sqlite3_bind_int64(s, 9, c->farthest);
	return step(s);
}

static bool write_conflicts(sqlite3_stmt *s, const struct profile *p)
{
	const struct conflict **list =
		calloc(HASH_COUNT(p->conflicts) + 1, sizeof(const struct conflict *));
	struct conflict *c, *tmp;
	bool ok = list;
	size_t n = 0;

	if (!list)
		return false;
	HASH_ITER (hh, p->conflicts, c, tmp)
		list[n++] = c;
	qsort(list, n, sizeof(const struct conflict *), by_conflict);
	for (size_t i = 0; i < n && ok; i++)
		ok = write_conflict(s, list[i]);
	free(list);
	return ok;
}

static bool write_table(sqlite3 *db, const struct profile *p, const char *sql,
			bool (*write)(sqlite3_stmt *, const struct profile *))
{
	sqlite3_stmt *s;
	bool ok;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return false;
	ok = write(s, p);
	sqlite3_finalize(s);
	return ok;
}

bool pairs_write(sqlite3 *db, const struct profile *p)
{
	return sqlite3_exec(db, "DELETE FROM call; DELETE FROM conflict", NULL, NULL, NULL) ==
		       SQLITE_OK &&
	       write_table(db, p, "INSERT INTO call VALUES(?,?,?,?,?)", write_calls) &&
	       write_table(db, p, "INSERT INTO conflict VALUES(?,?,?,?,?,?,?,?,?)",
			   write_conflicts);
}

/* Reading rows. */

struct reader {
	struct profile *p;
	const uint32_t *map;
	size_t nmap;
};

static bool site_at(const struct reader *r, sqlite3_stmt *s, int at, struct site_id *id)
{
	int64_t image = sqlite3_column_int64(s, at);

	if (image < 0 || (size_t)image >= r->nmap)
		return false;
	*id = (struct site_id){ .image = r->map[image],
				.addr = (uint64_t)sqlite3_column_int64(s, at + 1) };
	return true;
}

static bool number_at(sqlite3_stmt *s, int at, uint64_t max, uint64_t *v)
{
	*v = (uint64_t)sqlite3_column_int64(s, at);
	return *v <= max;
}

/* Index of the text among the names; n if it is none of them. */
static unsigned named(sqlite3_stmt *s, int at, const char *const *name, unsigned n)
{
	const char *text = (const char *)sqlite3_column_text(s, at);
	unsigned i = 0;

	while (i < n && (!text || strcmp(name[i], text)))
		i++;
	return i;
}

static enum pairs_result read_call(const struct reader *r, sqlite3_stmt *s)
{
	const uint8_t *p = sqlite3_column_blob(s, 4);
	struct cursor c = { p, p ? p + sqlite3_column_bytes(s, 4) : p };
	struct site_id from, to;
	struct call *call;
	struct err ignored;

	if (!site_at(r, s, 0, &from) || !site_at(r, s, 2, &to))
		return PAIRS_MALFORMED;
	call = calls_get(r->p, from, to);
	if (!call)
		return PAIRS_MEMORY;
	while (c.p < c.end) {
		uint64_t operand;
		struct hot **h;
		size_t used;

		if (!varint_get(&c, &operand) || operand < OPERAND_RETURN || operand >= OPERAND_N)
			return PAIRS_MALFORMED;
		h = &call->value[operand - OPERAND_RETURN];
		if (*h)
			return PAIRS_MALFORMED;
		*h = hot_decode(c.p, (size_t)(c.end - c.p), &used, &ignored);
		if (!*h)
			return PAIRS_MALFORMED;
		c.p += used;
	}
	return PAIRS_OK;
}

static enum pairs_result read_conflict(const struct reader *r, sqlite3_stmt *s)
{
	unsigned kind = named(s, 4, conflict_kind_name, CONFLICT_KIND_N);
	uint64_t count, distance, nearest, farthest;
	struct site_id load, store;
	struct conflict *c;

	if (!site_at(r, s, 0, &load) || !site_at(r, s, 2, &store) || kind == CONFLICT_KIND_N ||
	    !number_at(s, 5, COUNT_MAX, &count) || !number_at(s, 6, COUNT_MAX, &distance) ||
	    !number_at(s, 7, CONFLICT_DISTANCE_MAX, &nearest) ||
	    !number_at(s, 8, CONFLICT_DISTANCE_MAX, &farthest) || nearest > farthest ||
	    distance / CONFLICT_DISTANCE_MAX > count)
		return PAIRS_MALFORMED;
	c = conflicts_get(r->p, (enum conflict_kind)kind, store, load);
	if (!c)
		return PAIRS_MEMORY;
	conflicts_add(c, count, distance, (uint32_t)nearest, (uint32_t)farthest);
	return PAIRS_OK;
}

static enum pairs_result read_table(sqlite3 *db, const struct reader *r, const char *sql,
				    enum pairs_result (*row)(const struct reader *, sqlite3_stmt *))
{
	enum pairs_result result = PAIRS_OK;
	sqlite3_stmt *s;
	int rc = SQLITE_ROW;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return PAIRS_DATABASE;
	while (!result && (rc = sqlite3_step(s)) == SQLITE_ROW)
		result = row(r, s);
	sqlite3_finalize(s);
	return !result && rc != SQLITE_DONE ? PAIRS_DATABASE : result;
}

enum pairs_result pairs_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     const char **what)
{
	static const struct {
		const char *name, *sql;
		enum pairs_result (*row)(const struct reader *, sqlite3_stmt *);
	} table[] = {
		{ "call",
		  "SELECT image, address, to_image, to_address, operands FROM call ORDER BY 1, 2, "
		  "3, 4",
		  read_call },
		{ "conflict",
		  "SELECT image, address, store_image, store_address, kind, count, distance,"
		  " nearest, farthest FROM conflict ORDER BY 1, 2, 3, 4, 5",
		  read_conflict },
	};
	const struct reader r = { p, map, nmap };
	enum pairs_result result = PAIRS_OK;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !result; i++) {
		*what = table[i].name;
		result = read_table(db, &r, table[i].sql, table[i].row);
	}
	return result;
}
