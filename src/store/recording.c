/* SPDX-License-Identifier: MIT */
#include "store/recording.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/caller_rows.h"
#include "store/create.h"
#include "store/journal.h"
#include "store/model_rows.h"
#include "store/packed.h"
#include "store/pairs.h"
#include "store/schema.h"
#include "store/snapshot.h"
#include "store/vfs.h"
#include "store/phases_rows.h"
#include "store/sampled_rows.h"
#include "store/stack_rows.h"
#include "store/wset_rows.h"

#define PART (4u << 20) /* approximate bytes of a part of a snapshot before compression */
#define PAGE 4096
#define PATIENCE 500		/* part of a run that compressing a blob may take */
#define PATIENCE_LEAST 30000000 /* ns */
#define JOURNAL_MIN (1u << 20)	/* bytes up to which a journal is never replaced */

struct recording {
	sqlite3 *db;
	struct created files;
	struct vfs
		vfs; /* SQLite writes through the descriptors, whatever exists at the path by now */
	char *path;
	struct buffer pending; /* windows not written yet */
	uint64_t patience;     /* ns that compressing a blob may take */
	bool cut; /* the end of the recording could not be written, so its runs do not count as finished */
	uint64_t folded; /* bytes that the file used when a snapshot last replaced the journal */
	size_t nimage;	 /* images written */
	struct stack_rows stacks, committed; /* written; and what of that no rollback takes back */
};

static int db_error(struct recording *r, const char *what, struct err *err)
{
	int code = sqlite3_errcode(r->db);

	err_set(err, ERR_FAILED, "cannot %s %s: %s", what, r->path, sqlite3_errmsg(r->db));
	if (code == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR)
		return err_hint(
			err, "is the disk full? what was written before is kept; -o FILE records "
			     "elsewhere");
	return -1;
}

static int exec(struct recording *r, const char *sql, struct err *err)
{
	if (sqlite3_exec(r->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_error(r, "write", err);
	return 0;
}

static sqlite3_stmt *prepare(struct recording *r, const char *sql, struct err *err)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) != SQLITE_OK)
		db_error(r, "write", err);
	return s;
}

static int step(struct recording *r, sqlite3_stmt *s, struct err *err)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : db_error(r, "write", err);
}

/* A killed writer leaves a file that its rollback journal restores; power loss is not guarded
 * against. Deleted data is overwritten, so that no recorded value remains in unused pages. */
static int set_up(struct recording *r, struct err *err)
{
	char sql[288];

	snprintf(sql, sizeof(sql),
		 "PRAGMA page_size=%d; PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF;"
		 "PRAGMA auto_vacuum=INCREMENTAL;"
		 "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-1000; PRAGMA secure_delete=ON;"
		 "PRAGMA application_id=%d; PRAGMA user_version=%d;",
		 PAGE, RECORDING_APPLICATION_ID, RECORDING_SCHEMA);
	r->vfs.fd = r->files.fd;
	r->vfs.journal = r->files.journal;
	if (vfs_open(&r->vfs, &r->db) != SQLITE_OK)
		return r->db ? db_error(r, "write", err) : err_no_memory(err, "the recording");
	return exec(r, sql, err) || exec(r, "BEGIN", err) || exec(r, schema_sql, err) ||
			       exec(r, "COMMIT", err)
		       ? -1
		       : 0;
}

struct recording *recording_create(const char *path, struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r || !(r->path = strdup(path))) {
		free(r);
		err_no_memory(err, "the recording");
		return NULL;
	}
	if (create_files(path, &r->files, err) || set_up(r, err)) {
		recording_abandon(r);
		return NULL;
	}
	return r;
}

void recording_abandon(struct recording *r)
{
	if (!r)
		return;
	vfs_close(&r->vfs, r->db);
	create_close(r->path, &r->files);
	free(r->pending.p);
	free(r->path);
	free(r);
}

int recording_window(struct recording *r, const struct window *w, struct err *err)
{
	if (!journal_put(&r->pending, w))
		return err_no_memory(err, "the recording");
	return 0;
}

size_t recording_waiting(const struct recording *r)
{
	return r->pending.n;
}

/* Writing rows. */

static int write_image(struct recording *r, sqlite3_stmt *s, const struct profile_image *pi,
		       struct err *err)
{
	sqlite3_bind_int64(s, 1, pi->id);
	sqlite3_bind_text(s, 2, image_kind_name[pi->kind], -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, pi->path, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, pi->build_id, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 5, pi->stripped);
	sqlite3_bind_int64(s, 6, (int64_t)pi->layout_samples);
	sqlite3_bind_double(s, 7, pi->layout_squares);
	return step(r, s, err);
}

static int write_images(struct recording *r, const struct profile *p, size_t from, struct err *err)
{
	sqlite3_stmt *s = prepare(r, "INSERT OR REPLACE INTO image VALUES(?,?,?,?,?,?,?)", err);
	int rc = s ? 0 : -1;

	for (size_t i = from; i < p->nimage && !rc; i++)
		rc = write_image(r, s, p->image[i], err);
	sqlite3_finalize(s);
	return rc;
}

static int write_counter(struct recording *r, sqlite3_stmt *s, size_t run, const char *name,
			 uint64_t value, struct err *err)
{
	sqlite3_bind_int64(s, 1, (sqlite3_int64)run);
	sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)value);
	return step(r, s, err);
}

static const char *const stop_name[RA_STOP_N] = {
#define X(id, name, what) [RA_STOP_##id] = "stop_" name,
	RA_STOPS(X)
#undef X
};

static int write_counters(struct recording *r, size_t run, const struct run_counters *n,
			  struct err *err)
{
	sqlite3_stmt *s = prepare(r, "INSERT OR REPLACE INTO counter VALUES(?,?,?)", err);
	int rc = s ? 0 : -1;

#define X(name, what) \
	if (!rc) \
		rc = write_counter(r, s, run, #name, n->name, err);
	RUN_COUNTERS(X)
#undef X
	for (int i = 0; i < RA_STOP_N && !rc; i++)
		rc = write_counter(r, s, run, stop_name[i], n->stop[i], err);
	sqlite3_finalize(s);
	return rc;
}

static int write_run(struct recording *r, sqlite3_stmt *s, size_t i, const struct run *run,
		     struct err *err)
{
	const char *const text[8] = { run->source, run->command, run->host,  run->cpu,
				      run->kernel, run->version, run->event, run->unit };

	sqlite3_bind_int64(s, 1, (sqlite3_int64)i);
	for (int k = 0; k < 8; k++)
		sqlite3_bind_text(s, 2 + k, text[k], -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 10, (sqlite3_int64)run->started);
	sqlite3_bind_double(s, 11, run->rate);
	sqlite3_bind_int64(s, 12, run->burst);
	sqlite3_bind_int(s, 13, run->sketch);
	sqlite3_bind_int64(s, 14, run->sketch_capacity);
	sqlite3_bind_int(s, 15, run->status);
	sqlite3_bind_int(s, 16, run->finished && !r->cut);
	sqlite3_bind_int64(s, 17, run->distance);
	sqlite3_bind_text(s, 18, run->machine, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 19, (sqlite3_int64)run->clock);
	if (step(r, s, err))
		return -1;
	return write_counters(r, i, &run->n, err);
}

static int write_runs(struct recording *r, const struct profile *p, struct err *err)
{
	sqlite3_stmt *s = prepare(
		r, "INSERT OR REPLACE INTO run VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err);
	int rc = s ? 0 : -1;

	for (size_t i = 0; i < p->nrun && !rc; i++)
		rc = write_run(r, s, i, &p->run[i], err);
	sqlite3_finalize(s);
	return rc;
}

static int write_procedures(struct recording *r, const struct profile *p, struct err *err)
{
	sqlite3_stmt *s = prepare(r, "INSERT OR REPLACE INTO procedure VALUES(?,?,?,?)", err);
	int rc = s ? 0 : -1;

	for (size_t i = 0; i < p->nimage && !rc; i++)
		for (size_t k = 0; k < p->image[i]->nproc && !rc; k++) {
			const struct profile_proc *q = &p->image[i]->proc[k];

			sqlite3_bind_int64(s, 1, (sqlite3_int64)i);
			sqlite3_bind_int64(s, 2, (sqlite3_int64)q->start);
			sqlite3_bind_int64(s, 3, (sqlite3_int64)q->end);
			sqlite3_bind_text(s, 4, q->name, -1, SQLITE_STATIC);
			rc = step(r, s, err);
		}
	sqlite3_finalize(s);
	return rc;
}

static int packed_error(struct recording *r, int rc, struct err *err)
{
	if (rc == SQLITE_NOMEM)
		return err_no_memory(err, "the recording");
	return rc == SQLITE_OK ? 0 : db_error(r, "write", err);
}

static int write_journal(struct recording *r, struct err *err)
{
	return packed_error(r,
			    packed_insert(r->db, "INSERT INTO journal(size, windows) VALUES(?,?)",
					  0, &r->pending, r->patience),
			    err);
}

/* Writes the blob of a part that is full, or the last one. */
static int write_part(struct recording *r, const char *sql, struct snapshot *part, bool last,
		      struct err *err)
{
	if (!last && columns_size(&part->columns) < PART)
		return 0;
	snapshot_next(part);
	return packed_error(r, packed_columns(r->db, sql, 0, &part->columns, r->patience), err);
}

static int write_edges(struct recording *r, const struct profile *p, struct err *err)
{
	static const char sql[] = "INSERT INTO edge(size, edges) VALUES(?,?)";
	struct snapshot part;
	struct edge *e, *tmp;
	int rc = 0;

	snapshot_begin_edges(&part);
	HASH_ITER (hh, p->edges, e, tmp) {
		if (rc)
			break;
		if ((int64_t)e->count > 0 && !snapshot_put_edge(&part, e))
			rc = err_no_memory(err, "the recording");
		else
			rc = write_part(r, sql, &part, false, err);
	}
	if (!rc)
		rc = write_part(r, sql, &part, true, err);
	columns_fini(&part.columns);
	return rc;
}

static int write_sites(struct recording *r, const struct profile *p, struct err *err)
{
	static const char sql[] = "INSERT INTO site(size, sites) VALUES(?,?)";
	struct snapshot part;
	struct site *s;
	int rc = exec(r, "DELETE FROM site; DELETE FROM edge", err);

	snapshot_begin_sites(&part, profile_extent(p));
	SITES_EACH(&p->sites, s)
	{
		if (rc)
			break;
		rc = snapshot_put(&part, s) ? write_part(r, sql, &part, false, err)
					    : err_no_memory(err, "the recording");
	}
	if (!rc)
		rc = write_part(r, sql, &part, true, err);
	columns_fini(&part.columns);
	return rc ? rc : write_edges(r, p, err);
}

static int write_callers(struct recording *r, const struct profile *p, struct err *err)
{
	return caller_rows_write(r->db, p, r->patience) == SQLITE_OK ? 0
								     : db_error(r, "write", err);
}

static int write_pairs(struct recording *r, const struct profile *p, struct err *err)
{
	int rc = pairs_write(r->db, p, r->patience);

	if (rc == SQLITE_NOMEM)
		return err_no_memory(err, "the recording");
	return rc == SQLITE_OK ? 0 : db_error(r, "write", err);
}

static int write_wsets(struct recording *r, const struct profile *p, struct err *err)
{
	if (p->nsampled && sampled_rows_write(r->db, p) != SQLITE_OK)
		return db_error(r, "write", err);
	return p->nwset && wset_rows_write(r->db, p) != SQLITE_OK ? db_error(r, "write", err) : 0;
}

static int write_phases(struct recording *r, const struct profile *p, struct err *err)
{
	return p->nphases && phases_rows_write(r->db, p) != SQLITE_OK ? db_error(r, "write", err)
								      : 0;
}

/* `all`: all samples are written in place of those that are there; else those that are new are appended. */
static int write_stacks(struct recording *r, const struct profile *p, bool all, struct err *err)
{
	int rc;

	if (!p->stacks.nframe)
		return 0;
	if (exec(r, schema_stacks_sql, err))
		return -1;
	rc = all ? stack_rows_replace(r->db, &p->stacks, &r->stacks, r->patience)
		 : stack_rows_append(r->db, &p->stacks, &r->stacks);
	return rc == SQLITE_OK ? 0 : db_error(r, "write", err);
}

static int write_models(struct recording *r, const struct profile *p, struct err *err)
{
	return model_rows_write(r->db, p) ? 0 : db_error(r, "write", err);
}

static int roll_back(struct recording *r)
{
	sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
	r->stacks = r->committed;
	return -1;
}

static uint64_t pragma(struct recording *r, const char *sql)
{
	sqlite3_stmt *s;
	uint64_t v = 0;

	if (sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		v = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

static uint64_t bytes_used(struct recording *r)
{
	return (pragma(r, "PRAGMA page_count") - pragma(r, "PRAGMA freelist_count")) * PAGE;
}

/* Whether the journal is so long that a snapshot in its place makes the file smaller, and costs
 * no more to write than the journal did. */
static bool is_long(struct recording *r)
{
	uint64_t least = r->folded > JOURNAL_MIN ? r->folded : JOURNAL_MIN;

	return bytes_used(r) > r->folded + least;
}

/* Writes the sites and what belongs to them, in place of what was written before. */
static int write_snapshot(struct recording *r, const struct profile *p, struct err *err)
{
	return write_sites(r, p, err) || write_pairs(r, p, err) || write_models(r, p, err) ||
			       write_callers(r, p, err)
		       ? -1
		       : 0;
}

/* Writes the profile in place of the journal, into the pages that the journal had. */
static int fold(struct recording *r, const struct profile *p, struct err *err)
{
	if (exec(r, "DELETE FROM journal", err) || write_snapshot(r, p, err))
		return -1;
	r->folded = bytes_used(r);
	return 0;
}

int recording_flush(struct recording *r, const struct profile *p, struct err *err)
{
	bool folds = is_long(r);

	if (exec(r, "BEGIN", err))
		return -1;
	if (write_images(r, p, r->nimage, err) || write_runs(r, p, err) ||
	    (folds ? fold(r, p, err) : write_journal(r, err)) || write_stacks(r, p, folds, err) ||
	    exec(r, "COMMIT", err))
		return roll_back(r);
	r->committed = r->stacks;
	r->nimage = p->nimage;
	r->pending.n = 0;
	return 0;
}

int recording_checkpoint(struct recording *r, const struct profile *p, struct err *err)
{
	if (exec(r, "BEGIN", err))
		return -1;
	if (write_images(r, p, r->nimage, err) || write_runs(r, p, err) ||
	    write_snapshot(r, p, err) || write_wsets(r, p, err) || write_phases(r, p, err) ||
	    write_stacks(r, p, true, err) || exec(r, "COMMIT", err))
		return roll_back(r);
	r->committed = r->stacks;
	r->nimage = p->nimage;
	return 0;
}

/* What is written last stays: compressing it may take some time, and more of it the longer the runs took. */
static uint64_t last_patience(const struct profile *p)
{
	uint64_t elapsed = 0;

	for (size_t i = 0; i < p->nrun; i++)
		elapsed += p->run[i].n.elapsed_ns;
	return elapsed / PATIENCE > PATIENCE_LEAST ? elapsed / PATIENCE : PATIENCE_LEAST;
}

static int write_all(struct recording *r, const struct profile *p, struct err *err)
{
	r->patience = last_patience(p);
	if (exec(r, "BEGIN", err))
		return -1;
	/* The journal is deleted first, so that its pages are reused. */
	if (exec(r, "DELETE FROM journal", err) || write_images(r, p, 0, err) ||
	    write_runs(r, p, err) || write_procedures(r, p, err) || write_snapshot(r, p, err) ||
	    write_wsets(r, p, err) || write_phases(r, p, err) || write_stacks(r, p, true, err) ||
	    exec(r, "COMMIT", err))
		return roll_back(r);
	return exec(r, "PRAGMA incremental_vacuum", err);
}

int recording_finish(struct recording *r, const struct profile *p, struct err *err)
{
	int rc = write_all(r, p, err);
	struct err ignored;

	/* The aggregate did not fit; the unwritten windows may still fit into the journal. */
	if (rc) {
		r->cut = true;
		recording_flush(r, p, &ignored);
	}
	recording_abandon(r);
	return rc;
}

int recording_write(const char *path, const struct profile *p, struct err *err)
{
	struct recording *r = recording_create(path, err);

	return r ? recording_finish(r, p, err) : -1;
}
