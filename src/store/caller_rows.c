/* SPDX-License-Identifier: MIT */
#include "store/caller_rows.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/varint.h"

#define PART (1u << 20) /* bytes of a row, about */
#define PART_MAX (64u << 20)
#define FIELDS 7
#define WINDOWS_LEAST 2

/* Writing. */

static bool put(struct buffer *b, const struct caller *c, uint64_t *last)
{
	uint64_t have = 0;

	if (!buffer_room(b, FIELDS * VARINT_MAX))
		return false;
	for (int i = 0; i < OPERAND_N; i++)
		have |= (c->value[i] ? 1ull : 0) << i;
	varint_put(b, c->key.site.image);
	varint_put(b, zigzag((int64_t)(c->key.site.addr - *last)));
	varint_put(b, c->key.caller.image);
	varint_put(b, zigzag((int64_t)(c->key.caller.addr - c->key.site.addr)));
	varint_put(b, c->observed);
	varint_put(b, c->windows);
	varint_put(b, have);
	*last = c->key.site.addr;
	for (int i = 0; i < OPERAND_N; i++) {
		if (!c->value[i])
			continue;
		if (!buffer_room(b, hot_encoded_max(c->value[i])))
			return false;
		b->n += hot_encode(c->value[i], b->p + b->n);
	}
	return true;
}

static int write_part(sqlite3_stmt *s, struct buffer *b)
{
	size_t bound = ZSTD_compressBound(b->n), n;
	uint8_t *out;
	int rc;

	if (!b->n)
		return SQLITE_OK;
	out = malloc(bound);
	n = out ? ZSTD_compress(out, bound, b->p, b->n, 1) : 0;
	if (!out || ZSTD_isError(n)) {
		free(out);
		return SQLITE_NOMEM;
	}
	sqlite3_bind_int64(s, 1, (sqlite3_int64)b->n);
	sqlite3_bind_blob(s, 2, out, (int)n, SQLITE_STATIC);
	rc = sqlite3_step(s);
	sqlite3_reset(s);
	free(out);
	b->n = 0;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int write_rows(sqlite3_stmt *s, const struct profile *p)
{
	struct caller *c, *tmp;
	struct buffer b = { 0 };
	uint64_t last = 0;
	int rc = SQLITE_OK;

	HASH_ITER (hh, p->callers, c, tmp) {
		if (rc != SQLITE_OK)
			break;
		if (c->windows < WINDOWS_LEAST)
			continue;
		if (!put(&b, c, &last))
			rc = SQLITE_NOMEM;
		if (rc != SQLITE_OK || b.n < PART)
			continue;
		rc = write_part(s, &b);
		last = 0;
	}
	if (rc == SQLITE_OK)
		rc = write_part(s, &b);
	free(b.p);
	return rc;
}

int caller_rows_write(sqlite3 *db, const struct profile *p)
{
	static const char make[] =
		"CREATE TABLE IF NOT EXISTS caller(part INTEGER PRIMARY KEY, size INTEGER,"
		" rows BLOB); DELETE FROM caller";
	sqlite3_stmt *s = NULL;
	int rc = SQLITE_OK;

	if (!p->callers)
		return rc;
	rc = sqlite3_exec(db, make, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO caller(size, rows) VALUES(?,?)", -1, &s,
					NULL);
	if (rc == SQLITE_OK)
		rc = write_rows(s, p);
	sqlite3_finalize(s);
	return rc;
}

/* Reading: everything is validated. */

struct rows {
	struct profile *p;
	const uint32_t *map;
	size_t nmap;
	struct budget *budget;
};

/* The numbers of a row. */
struct fields {
	uint64_t image, addr, caller_image, caller_addr, observed, windows, have;
};

static bool get_fields(const struct rows *r, struct cursor *c, struct fields *f)
{
	uint64_t *const v[FIELDS] = { &f->image,    &f->addr,	 &f->caller_image, &f->caller_addr,
				      &f->observed, &f->windows, &f->have };

	for (int i = 0; i < FIELDS; i++)
		if (!varint_get(c, v[i]))
			return false;
	return f->image < r->nmap && f->caller_image < r->nmap && f->observed <= COUNT_MAX &&
	       f->windows <= f->observed && !(f->have >> OPERAND_N);
}

/* A list has no more observations than there were executions. */
static const char *get_lists(struct cursor *c, struct caller *to, const struct fields *f)
{
	for (uint64_t have = f->have; have; have &= have - 1) {
		struct hot **h = &to->value[__builtin_ctzll(have)], *one;
		struct err err;
		size_t used;

		one = hot_decode(c->p, (size_t)(c->end - c->p), &used, &err);
		if (!one)
			return "values by caller";
		c->p += used;
		if (hot_total(one) > f->observed) {
			hot_free(one);
			return "values by caller";
		}
		if (*h && hot_merge(*h, one)) {
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

static const char *take_rows(const struct rows *r, struct cursor c)
{
	const char *why = NULL;
	uint64_t last = 0;
	struct fields f;

	while (!why && c.p < c.end) {
		struct caller_key key = { .site.image = 0 };
		struct caller *to;

		if (!get_fields(r, &c, &f))
			return "values by caller";
		last += (uint64_t)unzigzag(f.addr);
		key.site = (struct site_id){ .image = r->map[f.image], .addr = last };
		key.caller = (struct site_id){ .image = r->map[f.caller_image],
					       .addr = last + (uint64_t)unzigzag(f.caller_addr) };
		to = callers_get(r->p, &key);
		if (!to)
			return HASH_COUNT(r->p->callers) < CALLERS_MAX ? "no memory"
								       : "too many callers";
		to->observed += f.observed;
		to->windows += f.windows;
		why = get_lists(&c, to, &f);
	}
	return why;
}

static const char *read_part(const struct rows *r, sqlite3_stmt *s)
{
	int64_t size = sqlite3_column_int64(s, 0);
	const void *blob = sqlite3_column_blob(s, 1);
	size_t stored = (size_t)sqlite3_column_bytes(s, 1), n = (size_t)size;
	const char *why = "values by caller";
	uint8_t *out;

	if (size < 1 || size > PART_MAX || !blob ||
	    ZSTD_getFrameContentSize(blob, stored) != (unsigned long long)size)
		return why;
	if (!budget_take(r->budget, n, stored, BUDGET_KEPT))
		return "values by caller expand to more than their size allows";
	out = malloc(n);
	if (!out)
		return "no memory";
	if (ZSTD_decompress(out, n, blob, stored) == n)
		why = take_rows(r, (struct cursor){ out, out + n });
	free(out);
	return why;
}

const char *caller_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     struct budget *budget, int *code)
{
	const struct rows r = { p, map, nmap, budget };
	const char *why = NULL;
	sqlite3_stmt *s;

	*code = sqlite3_prepare_v2(db, "SELECT size, rows FROM caller ORDER BY part", -1, &s, NULL);
	if (*code != SQLITE_OK)
		return NULL;
	while (!why && (*code = sqlite3_step(s)) == SQLITE_ROW)
		why = read_part(&r, s);
	sqlite3_finalize(s);
	if (why || *code == SQLITE_DONE)
		*code = SQLITE_OK;
	return why;
}
