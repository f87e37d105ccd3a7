/* SPDX-License-Identifier: MIT */
#include "store/wset_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/varint.h"

#define PROCESSES_MAX 1000000

static void bind(sqlite3_stmt *s, const struct wset *w)
{
	sqlite3_bind_int64(s, 1, w->run);
	sqlite3_bind_int64(s, 2, w->process);
}

static int done(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int write_process(sqlite3_stmt *s, const struct wset *w)
{
	bind(s, w);
	sqlite3_bind_int64(s, 3, w->pid);
	sqlite3_bind_int64(s, 4, w->parent);
	sqlite3_bind_text(s, 5, w->command ? w->command : "", -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, w->line);
	sqlite3_bind_text(s, 7, wset_unit_name[w->unit], -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 8, (sqlite3_int64)w->interval);
	sqlite3_bind_int64(s, 9, w->max);
	return done(s);
}

static int write_region(sqlite3_stmt *s, const struct wset *w, size_t i)
{
	bind(s, w);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)i);
	sqlite3_bind_text(s, 4, wset_kind_name[w->region[i].kind], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 5, w->region[i].name, -1, SQLITE_STATIC);
	return done(s);
}

static int write_interval(sqlite3_stmt *s, const struct wset *w, size_t i)
{
	const struct wset_snapshot *n = &w->snapshot[i];
	const uint64_t v[7] = { n->start, n->end,	 n->cpu_ns, n->wall_ns,
				n->lines, n->code_lines, n->first };

	bind(s, w);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)i);
	for (int k = 0; k < 7; k++)
		sqlite3_bind_int64(s, 4 + k, (sqlite3_int64)v[k]);
	sqlite3_bind_text(s, 11, n->stack ? n->stack : "", -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 12, (sqlite3_int64)n->size);
	sqlite3_bind_blob(s, 13, n->packed, (int)n->npacked, SQLITE_STATIC);
	return done(s);
}

static int write_first(sqlite3_stmt *s, const struct wset *w, size_t i)
{
	bind(s, w);
	sqlite3_bind_text(s, 3, w->first[i].procedure, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, (sqlite3_int64)w->first[i].lines);
	return done(s);
}

int wset_rows_write(sqlite3 *db, const struct profile *p)
{
	static const char *const sql[4] = { "INSERT INTO wset VALUES(?,?,?,?,?,?,?,?,?)",
					    "INSERT INTO wset_region VALUES(?,?,?,?,?)",
					    ("INSERT INTO wset_interval "
					     "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"),
					    "INSERT INTO wset_first VALUES(?,?,?,?)" };
	sqlite3_stmt *s[4] = { NULL };
	int rc =
		sqlite3_exec(db,
			     "DELETE FROM wset; DELETE FROM wset_region; DELETE FROM wset_interval;"
			     " DELETE FROM wset_first",
			     NULL, NULL, NULL);

	for (int i = 0; i < 4 && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v2(db, sql[i], -1, &s[i], NULL);
	for (size_t i = 0; i < p->nwset && rc == SQLITE_OK; i++) {
		const struct wset *w = p->wset[i];

		rc = write_process(s[0], w);
		for (size_t k = 0; k < w->nregion && rc == SQLITE_OK; k++)
			rc = write_region(s[1], w, k);
		for (size_t k = 0; k < w->nsnapshot && rc == SQLITE_OK; k++)
			rc = write_interval(s[2], w, k);
		for (size_t k = 0; k < w->nfirst && rc == SQLITE_OK; k++)
			rc = write_first(s[3], w, k);
	}
	for (int i = 0; i < 4; i++)
		sqlite3_finalize(s[i]);
	return rc;
}

/* Reading rows, which are untrusted. */

struct rows {
	sqlite3 *db;
	struct profile *p;
	struct budget *budget;
	size_t first_run, first; /* index of its first working set in the profile */
};

static const char *text(sqlite3_stmt *s, int i)
{
	const char *t = (const char *)sqlite3_column_text(s, i);

	return t ? t : "";
}

/* Index of the name in a list; `n` if it is not there. */
static int named(const char *const *list, int n, const char *name)
{
	int i = 0;

	while (i < n && strcmp(list[i], name))
		i++;
	return i;
}

static bool number(sqlite3_stmt *s, int i, uint64_t max, uint64_t *v)
{
	int64_t n = sqlite3_column_int64(s, i);

	*v = (uint64_t)n;
	return n >= 0 && *v <= max;
}

static const char *read_process(struct rows *r, sqlite3_stmt *s)
{
	uint64_t run, process, pid, parent, line, interval, max;
	struct wset *w;

	if (!number(s, 0, r->p->nrun - r->first_run - 1, &run) ||
	    !number(s, 1, UINT32_MAX, &process) || !number(s, 2, UINT32_MAX, &pid) ||
	    !number(s, 3, UINT32_MAX, &parent) || !number(s, 5, 4096, &line) || line < 16 ||
	    line & (line - 1) || !number(s, 7, COUNT_MAX, &interval) || interval < 1 ||
	    !number(s, 8, UINT32_MAX, &max) || r->p->nwset - r->first > PROCESSES_MAX ||
	    named(wset_unit_name, WSET_UNIT_N, text(s, 6)) == WSET_UNIT_N)
		return "a process of a working set";
	w = profile_wset(r->p);
	if (!w)
		return "no memory";
	w->run = (uint32_t)(run + r->first_run);
	w->process = (uint32_t)process;
	w->pid = (uint32_t)pid;
	w->parent = (uint32_t)parent;
	w->command = strdup(text(s, 4));
	w->line = (uint32_t)line;
	w->unit = named(wset_unit_name, WSET_UNIT_N, text(s, 6));
	w->interval = interval;
	w->max = (uint32_t)max;
	return w->command ? NULL : "no memory";
}

/* Finds the working set of a row. Rows and working sets are both sorted by run and process, so the search goes on at *at. */
static struct wset *owner(struct rows *r, sqlite3_stmt *s, size_t *at)
{
	int64_t run = sqlite3_column_int64(s, 0), process = sqlite3_column_int64(s, 1);

	for (; *at < r->p->nwset; ++*at) {
		struct wset *w = r->p->wset[*at];

		if (w->run == (uint64_t)run + r->first_run && w->process == (uint64_t)process)
			return w;
	}
	return NULL;
}

static const char *read_region(struct rows *r, sqlite3_stmt *s, size_t *at)
{
	int kind = named(wset_kind_name, WSET_KIND_N, text(s, 3));
	struct wset *w = owner(r, s, at);
	int64_t i = sqlite3_column_int64(s, 2);

	if (!w || kind == WSET_KIND_N || (i && i != (int64_t)w->nregion) ||
	    (!i && kind != WSET_KIND_CODE))
		return "a region of a working set";
	return wset_region(w, kind, text(s, 4)) == i ? NULL : "regions of a working set";
}

static const char *read_interval(struct rows *r, sqlite3_stmt *s, size_t *at)
{
	struct wset *w = owner(r, s, at);
	struct wset_snapshot n = { 0 };
	uint64_t *const v[7] = { &n.start, &n.end,	  &n.cpu_ns, &n.wall_ns,
				 &n.lines, &n.code_lines, &n.first };
	struct wset_sets sets;
	const char *why = NULL;
	uint64_t size;
	struct err err;

	if (!w || sqlite3_column_int64(s, 2) != (int64_t)w->nsnapshot)
		return "an interval of no working set";
	for (int k = 0; k < 7; k++)
		if (!number(s, 3 + k, COUNT_MAX, v[k]))
			return "an interval of a working set";
	if (n.end < n.start || n.first > n.lines || !number(s, 11, SIZE_MAX, &size) ||
	    (w->nsnapshot && n.start != w->snapshot[w->nsnapshot - 1].end))
		return "an interval of a working set";
	if (!budget_take(r->budget, size, (uint64_t)sqlite3_column_bytes(s, 12), BUDGET_FORGOTTEN))
		return "working sets expand to more than their size allows";
	if (!array_one_more(w->snapshot, w->nsnapshot))
		return "no memory";
	n.size = size;
	n.npacked = (size_t)sqlite3_column_bytes(s, 12);
	n.packed = malloc(n.npacked ? n.npacked : 1);
	n.stack = strdup(text(s, 10));
	if (n.packed && n.npacked)
		memcpy(n.packed, sqlite3_column_blob(s, 12), n.npacked);
	if (!n.packed || !n.stack) {
		why = "no memory";
	} else if (wset_unpack(w, &n, &sets, &err)) {
		why = err.msg[0] == 'n' ? "no memory" : "a working set";
	} else {
		wset_sets_fini(&sets);
	}
	if (why) {
		free(n.packed);
		free(n.stack);
		return why;
	}
	w->snapshot[w->nsnapshot++] = n;
	return NULL;
}

static const char *read_first(struct rows *r, sqlite3_stmt *s, size_t *at)
{
	struct wset *w = owner(r, s, at);
	uint64_t lines;

	if (!w || !number(s, 3, COUNT_MAX, &lines))
		return "a procedure of a working set";
	return wset_first(w, text(s, 2), lines) ? "no memory" : NULL;
}

const char *wset_rows_read(sqlite3 *db, struct profile *p, size_t first_run, struct budget *budget,
			   int *code)
{
	static const char *const sql[4] = {
		"SELECT run, process, pid, parent, command, line, unit, interval, max FROM wset"
		" ORDER BY run, process",
		"SELECT run, process, region, kind, name FROM wset_region"
		" ORDER BY run, process, region",
		"SELECT run, process, number, start, end, cpu_ns, wall_ns, lines, code_lines,"
		" first, stack, size, sets FROM wset_interval ORDER BY run, process, number",
		"SELECT run, process, procedure, lines FROM wset_first"
		" ORDER BY run, process, procedure",
	};
	struct rows r = { db, p, budget, first_run, p->nwset };
	const char *why = NULL;

	for (int i = 0; i < 4; i++) {
		size_t at = r.first;
		sqlite3_stmt *s;

		*code = sqlite3_prepare_v2(db, sql[i], -1, &s, NULL);
		if (*code != SQLITE_OK)
			return NULL;
		while (!why && (*code = sqlite3_step(s)) == SQLITE_ROW)
			why = i == 0   ? read_process(&r, s)
			      : i == 1 ? read_region(&r, s, &at)
			      : i == 2 ? read_interval(&r, s, &at)
				       : read_first(&r, s, &at);
		sqlite3_finalize(s);
		if (why || *code != SQLITE_DONE)
			return why;
		*code = SQLITE_OK;
	}
	return NULL;
}
