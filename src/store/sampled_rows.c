/* SPDX-License-Identifier: MIT */
#include "store/sampled_rows.h"

#include <math.h>
#include <string.h>

#include "observe/sampled.h"

#define ROWS_MAX (1u << 24)
#define COUNT_MAX (1ull << 62)

static int done(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void bind(sqlite3_stmt *s, int first, const uint64_t *v, int n)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(s, first + i, (sqlite3_int64)v[i]);
}

static int write_one(sqlite3_stmt *s, const struct sampled *one)
{
	const uint64_t v[] = { one->size,     one->warmup, one->instructions, one->expected,
			       one->mismatch, one->killed, one->scaled };

	sqlite3_bind_int64(s, 1, one->run);
	sqlite3_bind_text(s, 2, one->schedule, -1, SQLITE_STATIC);
	bind(s, 3, v, 7);
	return done(s);
}

static int write_sample(sqlite3_stmt *s, const struct sampled *one, size_t i)
{
	const struct sample *m = &one->sample[i];
	const uint64_t v[] = { one->run, i, m->number, m->begin, m->end, m->pid, m->batch, m->cut };

	bind(s, 1, v, 8);
	return done(s);
}

static int write_batch(sqlite3_stmt *batch, sqlite3_stmt *value, const struct sampled *one,
		       size_t i)
{
	const struct sample_batch *b = &one->batch[i];
	const uint64_t key[] = { one->run, i };
	int rc;

	bind(batch, 1, key, 2);
	sqlite3_bind_double(batch, 3, b->weight);
	sqlite3_bind_int(batch, 4, b->dropped);
	rc = done(batch);
	for (unsigned k = 0; k < SAMPLED_N && rc == SQLITE_OK; k++) {
		if (!b->n[k])
			continue;
		bind(value, 1, key, 2);
		sqlite3_bind_text(value, 3, sampled_counter_name(k), -1, SQLITE_STATIC);
		sqlite3_bind_int64(value, 4, (sqlite3_int64)b->n[k]);
		rc = done(value);
	}
	return rc;
}

int sampled_rows_write(sqlite3 *db, const struct profile *p)
{
	static const char *const sql[4] = { "INSERT INTO sampled VALUES(?,?,?,?,?,?,?,?,?)",
					    "INSERT INTO sample VALUES(?,?,?,?,?,?,?,?)",
					    "INSERT INTO sample_batch VALUES(?,?,?,?)",
					    "INSERT INTO sample_value VALUES(?,?,?,?)" };
	sqlite3_stmt *s[4] = { NULL };
	int rc = sqlite3_exec(db,
			      "DELETE FROM sampled; DELETE FROM sample; DELETE FROM sample_batch;"
			      " DELETE FROM sample_value",
			      NULL, NULL, NULL);

	for (int i = 0; i < 4 && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v2(db, sql[i], -1, &s[i], NULL);
	for (size_t i = 0; i < p->nsampled && rc == SQLITE_OK; i++) {
		const struct sampled *one = p->sampled[i];

		rc = write_one(s[0], one);
		for (size_t k = 0; k < one->n && rc == SQLITE_OK; k++)
			rc = write_sample(s[1], one, k);
		for (size_t k = 0; k < one->nbatch && rc == SQLITE_OK; k++)
			rc = write_batch(s[2], s[3], one, k);
	}
	for (int i = 0; i < 4; i++)
		sqlite3_finalize(s[i]);
	return rc;
}

/* Reading rows. Everything is validated. */

struct rows {
	struct profile *p;
	size_t first_run, first; /* index of its first entry in the profile */
};

/* Reads n columns from `first` on, which must not be negative or too large. */
static bool numbers(sqlite3_stmt *s, int first, uint64_t *v, int n)
{
	for (int i = 0; i < n; i++) {
		v[i] = (uint64_t)sqlite3_column_int64(s, first + i);
		if (v[i] > COUNT_MAX)
			return false;
	}
	return true;
}

static struct sampled *owner(const struct rows *r, uint64_t run)
{
	for (size_t i = r->first; i < r->p->nsampled; i++)
		if (r->p->sampled[i]->run == run + r->first_run)
			return r->p->sampled[i];
	return NULL;
}

static const char *read_one(struct rows *r, sqlite3_stmt *s)
{
	const char *text = (const char *)sqlite3_column_text(s, 1);
	struct sampled *one;
	uint64_t run, v[7];

	if (!numbers(s, 0, &run, 1) || !numbers(s, 2, v, 7) || run >= r->p->nrun - r->first_run ||
	    owner(r, run))
		return "a schedule";
	one = sampled_new(r->p, text ? text : "");
	if (!one)
		return "no memory";
	one->run = (uint32_t)(run + r->first_run);
	one->size = v[0];
	one->warmup = v[1];
	one->instructions = v[2];
	one->expected = v[3];
	one->mismatch = v[4];
	one->killed = v[5];
	one->scaled = v[6];
	return NULL;
}

static const char *read_sample(struct rows *r, sqlite3_stmt *s)
{
	struct sampled *one;
	uint64_t v[8];

	if (!numbers(s, 0, v, 8) || !(one = owner(r, v[0])) || v[1] != one->n || v[1] >= ROWS_MAX ||
	    v[4] < v[3] || v[5] > UINT32_MAX || v[6] >= ROWS_MAX)
		return "a sample";
	return sampled_add(one, &(struct sample){ .number = v[2],
						  .begin = v[3],
						  .end = v[4],
						  .pid = (uint32_t)v[5],
						  .batch = (uint32_t)v[6],
						  .cut = v[7] })
		       ? "no memory"
		       : NULL;
}

static const char *read_batch(struct rows *r, sqlite3_stmt *s)
{
	double weight = sqlite3_column_double(s, 2);
	struct sample_batch *b;
	struct sampled *one;
	uint64_t v[2];

	if (!numbers(s, 0, v, 2) || !(one = owner(r, v[0])) || v[1] != one->nbatch ||
	    v[1] >= ROWS_MAX || !isfinite(weight) || weight < 0)
		return "samples";
	b = sampled_batch(one);
	if (!b)
		return "no memory";
	b->weight = weight;
	b->dropped = sqlite3_column_int(s, 3);
	return NULL;
}

static const char *read_value(struct rows *r, sqlite3_stmt *s)
{
	const char *name = (const char *)sqlite3_column_text(s, 2);
	struct sampled *one;
	uint64_t v[2], n;

	if (!numbers(s, 0, v, 2) || !numbers(s, 3, &n, 1) || !(one = owner(r, v[0])) ||
	    v[1] >= one->nbatch)
		return "a sample's counter";
	for (unsigned i = 0; i < SAMPLED_N; i++) /* others are of a later version */
		if (!strcmp(sampled_counter_name(i), name ? name : ""))
			one->batch[v[1]].n[i] = n;
	return NULL;
}

const char *sampled_rows_read(sqlite3 *db, struct profile *p, size_t first_run, int *code)
{
	static const struct {
		const char *sql;
		const char *(*row)(struct rows *r, sqlite3_stmt *s);
	} table[] = {
		{ "SELECT run, schedule, size, warmup, instructions, expected, mismatch, killed,"
		  " scaled FROM sampled ORDER BY run",
		  read_one },
		{ "SELECT run, row, number, begin, end, pid, batch, cut FROM sample ORDER BY run, "
		  "row",
		  read_sample },
		{ "SELECT run, batch, weight, dropped FROM sample_batch ORDER BY run, batch",
		  read_batch },
		{ "SELECT run, batch, counter, value FROM sample_value", read_value },
	};
	struct rows r = { p, first_run, p->nsampled };
	const char *why = NULL;

	*code = SQLITE_OK;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !why && *code == SQLITE_OK;
	     i++) {
		sqlite3_stmt *s = NULL;
		int rc = sqlite3_prepare_v2(db, table[i].sql, -1, &s, NULL);

		while (rc == SQLITE_OK && !why) {
			int step = sqlite3_step(s);

			if (step == SQLITE_DONE)
				break;
			if (step == SQLITE_ROW)
				why = table[i].row(&r, s);
			else
				rc = step;
		}
		sqlite3_finalize(s);
		*code = rc;
	}
	return why;
}
