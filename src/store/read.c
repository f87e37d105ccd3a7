/* SPDX-License-Identifier: MIT */
/* Reading a recording. The file is untrusted. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fmt.h"
#include "observe/conflicts.h"
#include "store/budget.h"
#include "store/caller_rows.h"
#include "store/db_file.h"
#include "store/journal.h"
#include "store/model_rows.h"
#include "store/packed.h"
#include "store/pairs.h"
#include "store/recording.h"
#include "store/snapshot.h"
#include "store/vfs.h"
#include "store/phases_rows.h"
#include "store/sampled_rows.h"
#include "store/stack_rows.h"
#include "store/wset_rows.h"

#define ROW_MAX (1u << 30)
#define DIGEST_PART (1u << 20) /* bytes digested at once */

struct reader {
	sqlite3 *db;
	struct db_file file;
	struct vfs vfs;
	const char *path;
	struct profile *p;
	struct profile tail; /* windows that came after the snapshot, if there is one */
	bool has_tail;
	struct budget forgotten, kept;
	uint32_t *map; /* maps the file's image numbers to the profile's */
	size_t nmap;
	size_t first_run;
	struct err *err;
};

static int corrupt(struct reader *r, const char *what)
{
	err_set(r->err, ERR_FAILED, "%s is damaged: %s", r->path, what);
	return err_hint(r->err, "a copy, or %s.old, may be whole", r->path);
}

static int too_large(struct reader *r, const char *what, const struct budget *b)
{
	char size[32], stored[32];

	err_set(r->err, ERR_FAILED, "%s is not read: %s would expand to more than %s, from %s",
		r->path, what, fmt_size(b->size, size, sizeof(size)),
		fmt_size(b->stored, stored, sizeof(stored)));
	return err_hint(
		r->err,
		"no recorder writes that: the file is damaged, or was made to exhaust memory");
}

static int db_error(struct reader *r)
{
	int code = sqlite3_errcode(r->db);

	if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
		return err_no_memory(r->err, "the recording");
	if (code == SQLITE_NOTADB) {
		err_set(r->err, ERR_FAILED, "%s is no recording", r->path);
		return err_hint(r->err, "`assay record` makes one");
	}
	return corrupt(r, sqlite3_errmsg(r->db));
}

/* Passes each row of a query to a function; stops when it refuses a row. */
static int each_row(struct reader *r, const char *sql, int (*row)(struct reader *, sqlite3_stmt *))
{
	sqlite3_stmt *s;
	int rc;

	if (sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) != SQLITE_OK)
		return db_error(r);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		if (row(r, s)) {
			sqlite3_finalize(s);
			return -1;
		}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? 0 : db_error(r);
}

static const char *text(sqlite3_stmt *s, int i)
{
	const char *t = (const char *)sqlite3_column_text(s, i);

	return t ? t : "";
}

/* Reads a count; -1 if it cannot be one. */
static int64_t count_of(sqlite3_stmt *s, int i)
{
	int64_t v = sqlite3_column_int64(s, i);

	return v < 0 || v > COUNT_MAX ? -1 : v;
}

static const char image_sql[] =
	"SELECT id, kind, path, build_id, stripped, layout_samples, layout_squares"
	" FROM image ORDER BY id";

static int read_image(struct reader *r, sqlite3_stmt *s)
{
	int64_t id = sqlite3_column_int64(s, 0);
	double squares = sqlite3_column_double(s, 6);
	struct profile_image *pi;
	int kind = 0;

	if (id < 0 || id >= 1 << 20)
		return corrupt(r, "an image's number");
	while (kind < IMAGE_KIND_N && strcmp(image_kind_name[kind], text(s, 1)))
		kind++;
	if (kind == IMAGE_KIND_N)
		return corrupt(r, "an image's kind");
	if ((size_t)id >= r->nmap && !array_widen(r->map, r->nmap, (size_t)id + 16))
		return err_no_memory(r->err, "the recording");
	pi = profile_image(r->p, kind, text(s, 2), text(s, 3));
	if (!pi)
		return err_no_memory(r->err, "the recording");
	pi->stripped |= sqlite3_column_int(s, 4) != 0;
	/* the sum of squares of whole numbers is at least their sum */
	if (count_of(s, 5) < 0 || !isfinite(squares) || squares < (double)count_of(s, 5))
		return corrupt(r, "an image's layouts");
	pi->layout_samples += (uint64_t)count_of(s, 5);
	pi->layout_squares += squares;
	r->map[id] = pi->id;
	return 0;
}

static int read_run(struct reader *r, sqlite3_stmt *s)
{
	static const size_t to[8] = { offsetof(struct run, source), offsetof(struct run, command),
				      offsetof(struct run, host),   offsetof(struct run, cpu),
				      offsetof(struct run, kernel), offsetof(struct run, version),
				      offsetof(struct run, event),  offsetof(struct run, unit) };
	struct run *run = profile_run(r->p);

	if (!run)
		return err_no_memory(r->err, "the recording");
	for (int i = 0; i < 8; i++) {
		char **at = (char **)((char *)run + to[i]);

		*at = strdup(text(s, 1 + i));
		if (!*at)
			return err_no_memory(r->err, "the recording");
	}
	run->started = (uint64_t)sqlite3_column_int64(s, 9);
	run->rate = sqlite3_column_double(s, 10);
	run->burst = (unsigned)sqlite3_column_int64(s, 11);
	run->sketch = sqlite3_column_int(s, 12) == HOT_COUNTING ? HOT_COUNTING : HOT_SPACE_SAVING;
	run->sketch_capacity = (unsigned)sqlite3_column_int64(s, 13);
	run->status = sqlite3_column_int(s, 14);
	run->finished = sqlite3_column_int(s, 15) != 0;
	if (count_of(s, 16) >= 0 && count_of(s, 16) <= CONFLICT_DISTANCE_MAX)
		r->p->conflict_distance = run->distance = (unsigned)count_of(s, 16);
	if (sqlite3_column_type(s, 17) != SQLITE_NULL) {
		run->machine = strdup(text(s, 17));
		if (!run->machine)
			return err_no_memory(r->err, "the recording");
	}
	if (count_of(s, 18) < 0 || count_of(s, 18) > RUN_CLOCK_MAX)
		return corrupt(r, "a run's clock");
	run->clock = (uint64_t)count_of(s, 18);
	if (!isfinite(run->rate))
		return corrupt(r, "a run's rate");
	if (run->sketch_capacity >= 1 && run->sketch_capacity <= HOT_CAPACITY_MAX) {
		r->p->method = (enum hot_method)run->sketch;
		r->p->capacity = run->sketch_capacity;
	}
	return 0;
}

static int read_counter(struct reader *r, sqlite3_stmt *s)
{
	int64_t i = sqlite3_column_int64(s, 0), v = count_of(s, 2);
	const char *name = text(s, 1);
	struct run_counters *n;

	if (i < 0 || (size_t)i >= r->p->nrun - r->first_run || v < 0)
		return corrupt(r, "a counter");
	n = &r->p->run[r->first_run + (size_t)i].n;
#define X(field, what) \
	if (!strcmp(name, #field)) \
		n->field = (uint64_t)v;
	RUN_COUNTERS(X)
#undef X
#define X(id, label, what) \
	if (!strcmp(name, "stop_" label)) \
		n->stop[RA_STOP_##id] = (uint64_t)v;
	RA_STOPS(X)
#undef X
	return 0;
}

static int image_at(struct reader *r, sqlite3_stmt *s, uint32_t *image)
{
	int64_t id = sqlite3_column_int64(s, 0);

	if (id < 0 || (size_t)id >= r->nmap)
		return corrupt(r, "an image that is not there");
	*image = r->map[id];
	return 0;
}

static int read_procedure(struct reader *r, sqlite3_stmt *s)
{
	struct profile_proc proc = { (uint64_t)sqlite3_column_int64(s, 1),
				     (uint64_t)sqlite3_column_int64(s, 2), NULL };
	struct profile_image *pi;
	uint32_t image = 0;

	if (image_at(r, s, &image))
		return -1;
	pi = r->p->image[image];
	if (proc.end < proc.start || (pi->nproc && proc.start < pi->proc[pi->nproc - 1].start))
		return corrupt(r, "a procedure's range");
	proc.name = strdup(text(s, 3));
	if (!proc.name || !array_one_more(pi->proc, pi->nproc)) {
		free(proc.name);
		return err_no_memory(r->err, "the recording");
	}
	pi->proc[pi->nproc++] = proc;
	return 0;
}

/* Expands the blob of a row of (size, blob). -1 with err set. */
static int read_blob(struct reader *r, sqlite3_stmt *s, const char *what, struct budget *budget,
		     uint64_t factor, struct buffer *to)
{
	switch (packed_read(s, ROW_MAX, budget, factor, to)) {
	case PACKED_OK:
		return 0;
	case PACKED_TOO_LARGE:
		return too_large(r, what, budget);
	case PACKED_MEMORY:
		return err_no_memory(r->err, "the recording");
	default:
		return corrupt(r, what);
	}
}

static int read_journal(struct reader *r, sqlite3_stmt *s)
{
	struct buffer b = { 0 };
	struct err why;
	int rc = read_blob(r, s, "the journal", &r->forgotten, BUDGET_FORGOTTEN, &b);

	if (!rc) {
		rc = journal_replay(b.p, b.n, r->has_tail ? &r->tail : r->p,
				    budget_sites(&r->forgotten), r->map, r->nmap, &why);
		if (rc)
			corrupt(r, why.msg);
	}
	free(b.p);
	return rc;
}

/* Makes a profile with the images and lists of r->p, for windows that are added to it at the
 * end. */
static int begin_tail(struct reader *r)
{
	if (profile_init(&r->tail, r->err))
		return -1;
	r->has_tail = true;
	r->tail.method = r->p->method;
	r->tail.capacity = r->p->capacity;
	r->tail.conflict_distance = r->p->conflict_distance;
	for (size_t i = 0; i < r->p->nimage; i++) {
		const struct profile_image *pi = r->p->image[i];

		if (!profile_image(&r->tail, pi->kind, pi->path, pi->build_id))
			return err_no_memory(r->err, "the recording");
	}
	return 0;
}

static int read_sites(struct reader *r, sqlite3_stmt *s)
{
	struct buffer b = { 0 };
	struct err why;
	int rc = read_blob(r, s, "the sites", &r->kept, BUDGET_KEPT, &b);

	if (!rc) {
		rc = snapshot_read(b.p, b.n, r->p, r->map, r->nmap, &why);
		if (rc)
			corrupt(r, why.msg);
	}
	free(b.p);
	return rc;
}

static int read_edges(struct reader *r, sqlite3_stmt *s)
{
	struct buffer b = { 0 };
	struct err why;
	int rc = read_blob(r, s, "the edges", &r->kept, BUDGET_KEPT, &b);

	if (!rc) {
		rc = snapshot_read_edges(b.p, b.n, r->p, r->map, r->nmap, &why);
		if (rc)
			corrupt(r, why.msg);
	}
	free(b.p);
	return rc;
}

static int number(struct reader *r, const char *pragma, int64_t *v)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(r->db, pragma, -1, &s, NULL) != SQLITE_OK)
		return db_error(r);
	if (sqlite3_step(s) != SQLITE_ROW) {
		sqlite3_finalize(s);
		return db_error(r);
	}
	*v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return 0;
}

static int check_identity(struct reader *r)
{
	int64_t version = 0, page = 0;
	struct stat st;

	if (number(r, "PRAGMA user_version", &version))
		return -1;
	if (version != RECORDING_SCHEMA) {
		err_set(r->err, ERR_FAILED, "%s has schema %lld; this is assay %s, which reads %d",
			r->path, (long long)version, ASSAY_VERSION, RECORDING_SCHEMA);
		return err_hint(r->err, "read it with the assay that made it, %s",
				version > RECORDING_SCHEMA ? "or a newer one" : "or record again");
	}
	/* SQLite reads the missing part of the last page as zeros. */
	if (number(r, "PRAGMA page_size", &page) || page < 1 || fstat(r->file.fd, &st) ||
	    (r->vfs.rollback ? st.st_size < (off_t)r->vfs.rollback->size : st.st_size % page))
		return corrupt(r, "it is cut short");
	return 0;
}

static int refuse_row(struct reader *r, sqlite3_stmt *s)
{
	(void)s;
	return corrupt(r, "it holds more than tables");
}

/* Rejects views and computed columns, which would run expressions from the file. */
static int check_schema(struct reader *r)
{
	return each_row(r,
			"SELECT 1 FROM sqlite_schema WHERE type <> 'table' OR rootpage < 1"
			" UNION ALL SELECT 1 FROM sqlite_schema t, pragma_table_xinfo(t.name) c"
			" WHERE c.hidden",
			refuse_row);
}

static int read_runs(struct reader *r)
{
	return each_row(
		r,
		"SELECT id, source, command, host, cpu, kernel, version, event, unit, started,"
		" rate, burst, sketch, sketch_capacity, status, finished, distance, machine, clock"
		" FROM run ORDER BY id",
		read_run);
}

static int read_pairs(struct reader *r)
{
	const struct pairs_to to = { r->p, r->map, r->nmap, &r->kept };
	const char *what = "";
	enum pairs_result result = pairs_read(r->db, &to, &what);

	if (!result)
		result = model_rows_read(r->db, r->p, r->map, r->nmap, r->first_run, &what);
	switch (result) {
	case PAIRS_OK:
		return 0;
	case PAIRS_DATABASE:
		return db_error(r);
	case PAIRS_MEMORY:
		return err_no_memory(r->err, "the recording");
	case PAIRS_TOO_LARGE:
		return too_large(r, what, &r->kept);
	default:
		return corrupt(r, what);
	}
}

/* A snapshot holds earlier windows than the journal; sites of both add up. */
static int read_windows(struct reader *r)
{
	int64_t snapshot = 0, windows = 0;

	if (number(r, "SELECT count(*) FROM site", &snapshot) ||
	    number(r, "SELECT count(*) FROM journal", &windows))
		return -1;
	if (snapshot && windows && begin_tail(r))
		return -1;
	return each_row(r, "SELECT size, windows FROM journal ORDER BY seq", read_journal);
}

static int add_tail(struct reader *r)
{
	return r->has_tail ? profile_merge(r->p, &r->tail, r->err) : 0;
}

static int read_snapshot(struct reader *r)
{
	return each_row(r, "SELECT size, sites FROM site ORDER BY part", read_sites) ||
			       each_row(r, "SELECT size, edges FROM edge ORDER BY part", read_edges)
		       ? -1
		       : 0;
}

/* Whether the recording has the table: one that is about something else has not. -1 with err set. */
static int has_table(struct reader *r, const char *name)
{
	char sql[100];
	int64_t n = 0;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_schema WHERE name='%s'", name);
	return number(r, sql, &n) ? -1 : n > 0;
}

/* Reports what a reader of rows says: NULL or what is wrong with them, and SQLite's code. */
static int rows_result(struct reader *r, const char *why, int code)
{
	if (why && !strcmp(why, "no memory"))
		return err_no_memory(r->err, "the recording");
	if (why)
		return corrupt(r, why);
	return code == SQLITE_OK ? 0 : db_error(r);
}

static int read_wsets(struct reader *r)
{
	int code;
	const char *why = wset_rows_read(r->db, r->p, r->first_run, &r->forgotten, &code);

	return rows_result(r, why, code);
}

static int read_phases(struct reader *r)
{
	const struct phases_rows to = { r->p, r->first_run, r->map, r->nmap, &r->kept };
	int code;
	const char *why = phases_rows_read(r->db, &to, &code);

	return rows_result(r, why, code);
}

static int read_callers(struct reader *r)
{
	int has = has_table(r, "caller"), code;
	const char *why;

	if (has <= 0)
		return has;
	why = caller_rows_read(r->db, r->p, r->map, r->nmap, &r->kept, &code);
	return rows_result(r, why, code);
}

static int read_stacks(struct reader *r)
{
	const struct stack_rows_to to = { r->p, r->first_run, r->map, r->nmap, &r->kept };
	int has = has_table(r, "stack"), code;
	const char *why;

	if (has <= 0)
		return has;
	why = stack_rows_read(r->db, &to, &code);
	return rows_result(r, why, code);
}

static int read_sampled(struct reader *r)
{
	int code;
	const char *why = sampled_rows_read(r->db, r->p, r->first_run, &code);

	return rows_result(r, why, code);
}

static int open_db(struct reader *r)
{
	if (db_file_open(&r->file, r->path, r->err))
		return -1;
	r->vfs.fd = r->file.fd;
	r->vfs.journal = -1;
	r->vfs.rollback = db_file_rollback(&r->file);
	if (vfs_open(&r->vfs, &r->db) != SQLITE_OK)
		return r->db ? db_error(r) : err_no_memory(r->err, "the recording");
	sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, ROW_MAX);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_exec(r->db,
		     "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-16000",
		     NULL, NULL, NULL);
	return 0;
}

/* Computes the digest of everything that SQLite may have read. */
static int take_digest(const struct reader *r, char content[DIGEST_TEXT])
{
	uint8_t *some = malloc(DIGEST_PART);
	struct digest d;
	uint64_t at = 0;
	ssize_t n = -1;

	digest_init(&d);
	while (some &&
	       (n = rollback_pread(r->vfs.rollback, r->file.fd, some, DIGEST_PART, at)) > 0) {
		digest_add(&d, some, (size_t)n);
		at += (size_t)n;
	}
	free(some);
	digest_text(&d, content);
	return n < 0 ? err_sys(r->err, "cannot read %s", r->path) : 0;
}

int recording_read_samples(const char *path, struct profile *p, struct err *err)
{
	struct reader r = { .path = path, .file = { .fd = -1, .journal = -1 }, .p = p, .err = err };
	int rc;

	rc = open_db(&r) || check_identity(&r) || check_schema(&r) ||
	     each_row(&r, image_sql, read_image) || read_runs(&r) || read_sampled(&r);
	vfs_close(&r.vfs, r.db);
	db_file_close(&r.file);
	free(r.map);
	return rc ? -1 : 0;
}

/* Reads into an empty profile. */
static int read_into(const char *path, struct profile *p, char *content, struct err *err)
{
	struct reader r = { .path = path, .file = { .fd = -1, .journal = -1 }, .p = p, .err = err };
	int rc;

	rc = open_db(&r);
	if (!rc)
		rc = check_identity(&r);
	if (!rc)
		rc = check_schema(&r);
	if (!rc)
		rc = each_row(&r, image_sql, read_image);
	if (!rc)
		rc = read_runs(&r);
	if (!rc)
		rc = each_row(&r, "SELECT run, name, value FROM counter", read_counter);
	if (!rc)
		rc = each_row(&r,
			      "SELECT image, start, end, name FROM procedure ORDER BY image, start",
			      read_procedure);
	if (!rc)
		rc = read_windows(&r);
	if (!rc)
		rc = read_snapshot(&r);
	if (!rc)
		rc = read_pairs(&r);
	if (!rc)
		rc = read_wsets(&r) || read_phases(&r) || read_sampled(&r) || read_stacks(&r) ||
				     read_callers(&r)
			     ? -1
			     : 0;
	if (!rc)
		rc = add_tail(&r);
	if (!rc && content)
		rc = take_digest(&r, content);
	vfs_close(&r.vfs, r.db);
	db_file_close(&r.file);
	if (r.has_tail)
		profile_fini(&r.tail);
	free(r.map);
	return rc;
}

int recording_read_known(const char *path, struct profile *p, char content[DIGEST_TEXT],
			 struct err *err)
{
	return read_into(path, p, content, err);
}

int recording_read(const char *path, struct profile *p, struct err *err)
{
	struct profile one;
	int rc;

	if (!p->nrun && !p->sites.n)
		return read_into(path, p, NULL, err);
	if (profile_init(&one, err))
		return -1;
	rc = read_into(path, &one, NULL, err);
	if (!rc)
		rc = profile_merge(p, &one, err);
	profile_fini(&one);
	return rc;
}
