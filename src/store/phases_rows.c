/* SPDX-License-Identifier: MIT */
#include "store/phases_rows.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/varint.h"

#define PROCESSES_MAX 1000000
#define PART_SIZE (4u << 20) /* approximate bytes of a part */
#define PART_MAX (256u << 20)

static int done(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Binds size and compressed bytes to columns i and i + 1. */
static int bind_packed(sqlite3_stmt *s, int i, const struct buffer *b)
{
	size_t bound = ZSTD_compressBound(b->n), n;
	uint8_t *out = malloc(bound);

	if (!out)
		return SQLITE_NOMEM;
	n = ZSTD_compress(out, bound, b->p, b->n, 1);
	if (ZSTD_isError(n)) {
		free(out);
		return SQLITE_NOMEM;
	}
	sqlite3_bind_int64(s, i, (sqlite3_int64)b->n);
	return sqlite3_bind_blob(s, i + 1, out, (int)n, free);
}

static int write_process(sqlite3_stmt *s, const struct phases *p)
{
	struct buffer b = { 0 };
	uint64_t before = 0;
	int rc;

	if (!buffer_room(&b, (3 * p->nblock + 1) * VARINT_MAX))
		return SQLITE_NOMEM;
	varint_put(&b, p->nblock);
	for (size_t i = 0; i < p->nblock; i++) {
		varint_put(&b, p->block[i].image);
		varint_put(&b, zigzag((int64_t)(p->block[i].addr - before)));
		varint_put(&b, p->block[i].n);
		before = p->block[i].addr;
	}
	sqlite3_bind_int64(s, 1, p->run);
	sqlite3_bind_int64(s, 2, p->process);
	sqlite3_bind_int64(s, 3, p->pid);
	sqlite3_bind_int64(s, 4, p->parent);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)p->wanted);
	sqlite3_bind_int64(s, 6, p->max);
	rc = bind_packed(s, 7, &b);
	free(b.p);
	return rc == SQLITE_OK ? done(s) : rc;
}

static int write_part(sqlite3_stmt *s, const struct phases *p, int64_t number,
		      const struct buffer *b)
{
	int rc;

	sqlite3_bind_int64(s, 1, p->run);
	sqlite3_bind_int64(s, 2, p->process);
	sqlite3_bind_int64(s, 3, number);
	rc = bind_packed(s, 4, b);
	return rc == SQLITE_OK ? done(s) : rc;
}

static int write_intervals(sqlite3_stmt *s, const struct phases *p)
{
	struct buffer b = { 0 };
	int rc = SQLITE_OK;

	for (size_t i = 0, part = 0; i < p->ninterval && rc == SQLITE_OK; i++) {
		const struct phase_interval *one = &p->interval[i];

		if (!buffer_room(&b, one->size + VARINT_MAX)) {
			rc = SQLITE_NOMEM;
			break;
		}
		varint_put(&b, one->size);
		memcpy(b.p + b.n, one->vector, one->size);
		b.n += one->size;
		if (b.n < PART_SIZE && i + 1 < p->ninterval)
			continue;
		rc = write_part(s, p, (int64_t)part++, &b);
		b.n = 0;
	}
	free(b.p);
	return rc;
}

int phases_rows_write(sqlite3 *db, const struct profile *p)
{
	sqlite3_stmt *process = NULL, *part = NULL;
	int rc = sqlite3_exec(db, "DELETE FROM phases; DELETE FROM phases_part", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO phases VALUES(?,?,?,?,?,?,?,?)", -1,
					&process, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO phases_part VALUES(?,?,?,?,?)", -1, &part,
					NULL);
	for (size_t i = 0; i < p->nphases && rc == SQLITE_OK; i++) {
		rc = write_process(process, p->phases[i]);
		if (rc == SQLITE_OK)
			rc = write_intervals(part, p->phases[i]);
	}
	sqlite3_finalize(process);
	sqlite3_finalize(part);
	return rc;
}

/* Reading rows, which validates everything. */

static bool number(sqlite3_stmt *s, int i, uint64_t max, uint64_t *v)
{
	int64_t n = sqlite3_column_int64(s, i);

	*v = (uint64_t)n;
	return n >= 0 && *v <= max;
}

/* Expands the data in columns i and i + 1, *n bytes, to be freed; returns NULL and *why on
 * failure. */
static uint8_t *unpack(const struct phases_rows *r, sqlite3_stmt *s, int i, size_t *n,
		       const char **why)
{
	const void *blob = sqlite3_column_blob(s, i + 1);
	size_t stored = (size_t)sqlite3_column_bytes(s, i + 1);
	uint64_t size;
	uint8_t *out;

	*why = "packed phases";
	if (!number(s, i, PART_MAX, &size) || !size || !blob ||
	    ZSTD_getFrameContentSize(blob, stored) != size)
		return NULL;
	*why = "phases expand to more than their size allows";
	if (!budget_take(r->budget, size, stored, BUDGET_KEPT))
		return NULL;
	out = malloc(size);
	*why = out ? "packed phases" : "no memory";
	if (out && ZSTD_decompress(out, size, blob, stored) != size) {
		free(out);
		return NULL;
	}
	*n = size;
	return out;
}

static const char *read_block(const struct phases_rows *r, struct phases *p, struct cursor *c,
			      uint64_t *addr)
{
	uint64_t image, step, n;
	long number = (long)p->nblock, known;

	if (!varint_get(c, &image) || !varint_get(c, &step) || !varint_get(c, &n) ||
	    image >= r->nmap || !n || n > UINT32_MAX)
		return "a block of phases";
	*addr += (uint64_t)unzigzag(step);
	known = phases_block(p, r->map[image], *addr, (uint32_t)n);
	if (known < 0)
		return "no memory";
	return known == number ? NULL : "a block of phases that is there twice";
}

static const char *read_blocks(const struct phases_rows *r, struct phases *p, const uint8_t *bytes,
			       size_t size)
{
	struct cursor c = { bytes, bytes + size };
	uint64_t n, addr = 0;
	const char *why = NULL;

	if (!varint_get(&c, &n) || n > PHASES_BLOCKS_MAX || n > size)
		return "blocks of phases";
	for (uint64_t i = 0; i < n && !why; i++)
		why = read_block(r, p, &c, &addr);
	return why ? why : c.p == c.end ? NULL : "blocks of phases";
}

static const char *read_process(const struct phases_rows *r, sqlite3_stmt *s, size_t first)
{
	uint64_t run, process, pid, parent, wanted, max;
	const char *why;
	struct phases *p;
	uint8_t *bytes;
	size_t n;

	if (!number(s, 0, r->p->nrun - r->first_run - 1, &run) ||
	    !number(s, 1, UINT32_MAX, &process) || !number(s, 2, UINT32_MAX, &pid) ||
	    !number(s, 3, UINT32_MAX, &parent) || !number(s, 4, COUNT_MAX, &wanted) ||
	    !number(s, 5, UINT32_MAX, &max) || r->p->nphases - first > PROCESSES_MAX)
		return "a process of phases";
	bytes = unpack(r, s, 6, &n, &why);
	p = bytes ? profile_phases(r->p) : NULL;
	if (!p) {
		free(bytes);
		return bytes ? "no memory" : why;
	}
	p->run = (uint32_t)(run + r->first_run);
	p->process = (uint32_t)process;
	p->pid = (uint32_t)pid;
	p->parent = (uint32_t)parent;
	p->wanted = wanted;
	p->max = (uint32_t)max;
	why = read_blocks(r, p, bytes, n);
	free(bytes);
	return why;
}

static const char *read_part(const struct phases_rows *r, sqlite3_stmt *s, size_t *at)
{
	uint64_t run = (uint64_t)sqlite3_column_int64(s, 0) + r->first_run;
	uint64_t process = (uint64_t)sqlite3_column_int64(s, 1);
	const char *why = NULL;
	struct cursor c;
	uint8_t *bytes;
	size_t n;

	/* rows are sorted by key, and so are processes */
	while (*at < r->p->nphases &&
	       (r->p->phases[*at]->run != run || r->p->phases[*at]->process != process))
		++*at;
	if (*at == r->p->nphases)
		return "intervals of no process";
	bytes = unpack(r, s, 2, &n, &why);
	if (!bytes)
		return why;
	c = (struct cursor){ bytes, bytes + n };
	why = NULL;
	while (c.p < c.end && !why) {
		uint64_t size;

		if (!varint_get(&c, &size) || size > (uint64_t)(c.end - c.p))
			why = "an interval of phases";
		else
			why = phases_add_packed(r->p->phases[*at], c.p, size);
		if (!why)
			c.p += size;
	}
	free(bytes);
	return why;
}

const char *phases_rows_read(sqlite3 *db, const struct phases_rows *r, int *code)
{
	static const char *const sql[2] = {
		"SELECT run, process, pid, parent, wanted, max, size, blocks FROM phases"
		" ORDER BY run, process",
		"SELECT run, process, size, intervals FROM phases_part"
		" ORDER BY run, process, part",
	};
	size_t first = r->p->nphases, at = first;
	const char *why = NULL;

	for (int i = 0; i < 2; i++) {
		sqlite3_stmt *s;

		*code = sqlite3_prepare_v2(db, sql[i], -1, &s, NULL);
		if (*code != SQLITE_OK)
			return NULL;
		while (!why && (*code = sqlite3_step(s)) == SQLITE_ROW)
			why = i ? read_part(r, s, &at) : read_process(r, s, first);
		sqlite3_finalize(s);
		if (why || *code != SQLITE_DONE)
			return why;
		*code = SQLITE_OK;
	}
	return NULL;
}
