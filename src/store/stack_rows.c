/* SPDX-License-Identifier: MIT */
#include "store/stack_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/columns.h"
#include "store/times.h"

#define PART 262144   /* frames or samples of a row at most */
#define TIME_MAX 1e18 /* most time of one row's samples */

/* Writing. */

enum {
	FRAME_UP,
	FRAME_KIND_OF,
	FRAME_IMAGE,
	FRAME_ADDRESS,
	FRAME_COLUMNS
};
enum {
	SAMPLE_THREAD,
	SAMPLE_BUCKET,
	SAMPLE_FRAME,
	SAMPLE_COUNT,
	SAMPLE_TIME,
	SAMPLE_COLUMNS
};

/* What the columns of frames, or of samples, are told apart from. */
struct before {
	uint64_t addr;
	struct stack_sample sample;
	struct times times;
};

static bool put_frame(struct buffer *column, const struct frame *f, size_t number,
		      struct before *before)
{
	uint64_t from = before->addr;

	if (!column_put(&column[FRAME_UP], number - f->parent) ||
	    !column_put(&column[FRAME_KIND_OF], f->kind))
		return false;
	if (frame_is_end(f->kind))
		return true;
	before->addr = f->addr;
	return column_put(&column[FRAME_IMAGE], f->image) &&
	       column_put(&column[FRAME_ADDRESS], zigzag((int64_t)(f->addr - from)));
}

static int append_frames(sqlite3 *db, const struct stacks *s, size_t from, uint64_t patience)
{
	struct columns columns = { .n = FRAME_COLUMNS };
	int rc = SQLITE_OK;

	for (size_t i = from ? from : 1, end; i < s->nframe && rc == SQLITE_OK; i = end) {
		struct before before = { 0 };
		bool ok = true;

		end = s->nframe - i > PART ? i + PART : s->nframe;
		for (size_t k = i; k < end && ok; k++)
			ok = put_frame(columns.of, &s->frame[k], k, &before);
		rc = ok ? packed_columns(db, "INSERT INTO frame(size, frames, first) VALUES(?,?,?)",
					 i, &columns, patience)
			: SQLITE_NOMEM;
	}
	columns_fini(&columns);
	return rc;
}

static int write_thread(sqlite3_stmt *q, size_t number, const struct stack_thread *t)
{
	int rc;

	sqlite3_bind_int64(q, 1, (sqlite3_int64)number);
	sqlite3_bind_int64(q, 2, t->run);
	sqlite3_bind_int64(q, 3, t->pid);
	sqlite3_bind_int64(q, 4, t->tid);
	sqlite3_bind_text(q, 5, t->comm, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 6, t->cgroup, -1, SQLITE_STATIC);
	rc = sqlite3_step(q);
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int append_threads(sqlite3 *db, const struct stacks *s, size_t from)
{
	sqlite3_stmt *q = NULL;
	int rc = SQLITE_OK;

	if (from < s->nthread)
		rc = sqlite3_prepare_v2(db, "INSERT INTO stack_thread VALUES(?,?,?,?,?,?)", -1, &q,
					NULL);
	for (size_t i = from; i < s->nthread && rc == SQLITE_OK; i++)
		rc = write_thread(q, i, &s->thread[i]);
	sqlite3_finalize(q);
	return rc;
}

static uint64_t step_to(uint32_t to, uint32_t from)
{
	return zigzag((int64_t)to - from);
}

static bool put_sample(struct buffer *column, const struct stack_sample *one, struct before *before)
{
	const struct stack_sample *last = &before->sample;
	const uint64_t v[SAMPLE_COLUMNS] = {
		[SAMPLE_THREAD] = step_to(one->thread, last->thread),
		[SAMPLE_BUCKET] = step_to(one->bucket, last->bucket),
		[SAMPLE_FRAME] = step_to(one->frame, last->frame),
		[SAMPLE_COUNT] = one->count,
		[SAMPLE_TIME] = times_put(&before->times, one->time, one->count),
	};

	before->sample = *one;
	for (unsigned i = 0; i < SAMPLE_COLUMNS; i++)
		if (!column_put(&column[i], v[i]))
			return false;
	return true;
}

static int append_samples(sqlite3 *db, uint64_t width, const struct stack_sample *sample, size_t n,
			  uint64_t patience)
{
	struct columns columns = { .n = SAMPLE_COLUMNS };
	int rc = SQLITE_OK;

	for (size_t i = 0, end; i < n && rc == SQLITE_OK; i = end) {
		struct before before = { 0 };
		bool ok = true;

		end = n - i > PART ? i + PART : n;
		for (size_t k = i; k < end && ok; k++)
			ok = put_sample(columns.of, &sample[k], &before);
		rc = ok ? packed_columns(db,
					 "INSERT INTO stack(size, samples, width) VALUES(?,?,?)",
					 width, &columns, patience)
			: SQLITE_NOMEM;
	}
	columns_fini(&columns);
	return rc;
}

static int append(sqlite3 *db, const struct stacks *s, const struct stack_rows *done,
		  uint64_t patience)
{
	int rc = append_frames(db, s, done->frames, patience);

	return rc == SQLITE_OK ? append_threads(db, s, done->threads) : rc;
}

int stack_rows_append(sqlite3 *db, const struct stacks *s, struct stack_rows *done)
{
	bool reordered = s->folds != done->folds;
	int rc = reordered ? sqlite3_exec(db, "DELETE FROM stack", NULL, NULL, NULL) : SQLITE_OK;

	if (reordered)
		done->samples = 0;
	if (rc == SQLITE_OK)
		rc = append(db, s, done, 0);
	if (rc == SQLITE_OK)
		rc = append_samples(db, s->width, s->sample + done->samples,
				    s->nsample - done->samples, 0);
	*done = (struct stack_rows){ s->nframe, s->nthread, s->nsample, s->folds };
	return rc;
}

/* Writes samples as stacks_fold() would leave them. */
static int write_folded(sqlite3 *db, const struct stacks *s, uint64_t patience)
{
	struct stack_sample *sample = calloc(s->nsample + 1, sizeof(*sample));
	int rc = SQLITE_NOMEM;

	if (!sample)
		return rc;
	if (s->nsample)
		memcpy(sample, s->sample, s->nsample * sizeof(*sample));
	rc = append_samples(db, s->width, sample, stack_samples_fold(sample, s->nsample), patience);
	free(sample);
	return rc;
}

int stack_rows_replace(sqlite3 *db, const struct stacks *s, struct stack_rows *done,
		       uint64_t patience)
{
	int rc = sqlite3_exec(db, "DELETE FROM frame; DELETE FROM stack", NULL, NULL, NULL);

	done->frames = 0;
	if (rc == SQLITE_OK)
		rc = append(db, s, done, patience);
	if (rc == SQLITE_OK)
		rc = write_folded(db, s, patience);
	*done = (struct stack_rows){ s->nframe, s->nthread, s->nsample, s->folds };
	return rc;
}

/* Reading. Nothing is trusted. */

struct rows {
	const struct stack_rows_to *to;
	struct stacks *s;
	struct buffer blob;    /* the row at hand */
	struct buffer numbers; /* uint32_t: by frame of the file, the frame of the profile */
	size_t nframe;
	uint32_t *thread; /* by thread of the file, the thread of the profile */
	size_t nthread;
};

/* Expands the blob of a row that begins with size and blob, and finds its columns. NULL, or what is wrong. */
static const char *unpack(struct rows *r, sqlite3_stmt *q, struct cursor *column, unsigned n)
{
	switch (packed_read(q, PACKED_ROW, r->to->budget, BUDGET_KEPT, &r->blob)) {
	case PACKED_OK:
		return columns_split(column, n, r->blob.p, r->blob.n) ? NULL : "call stacks";
	case PACKED_TOO_LARGE:
		return "call stacks expand to more than their size allows";
	case PACKED_MEMORY:
		return "no memory";
	default:
		return "call stacks";
	}
}

static bool get_frame(struct rows *r, struct cursor *column, uint64_t *last, struct frame *f)
{
	uint64_t up, kind, image = 0, addr = 0;

	if (!varint_get(&column[FRAME_UP], &up) || !varint_get(&column[FRAME_KIND_OF], &kind) ||
	    !up || up > r->nframe || kind == FRAME_NONE || kind >= FRAME_KIND_N)
		return false;
	if (!frame_is_end((unsigned)kind)) {
		if (!varint_get(&column[FRAME_IMAGE], &image) ||
		    !varint_get(&column[FRAME_ADDRESS], &addr) || image >= r->to->nmap)
			return false;
		*last += (uint64_t)unzigzag(addr);
		addr = *last;
		image = r->to->map[image];
	}
	*f = (struct frame){ .addr = addr,
			     .parent = ((uint32_t *)(void *)r->numbers.p)[r->nframe - up],
			     .image = (uint32_t)image,
			     .kind = (uint32_t)kind };
	return true;
}

static bool number_frame(struct rows *r, uint32_t number)
{
	if (!buffer_room(&r->numbers, sizeof(number)))
		return false;
	memcpy(r->numbers.p + r->numbers.n, &number, sizeof(number));
	r->numbers.n += sizeof(number);
	r->nframe++;
	return true;
}

static const char *take_frames(struct rows *r, struct cursor *column)
{
	uint64_t last = 0;
	struct frame f;

	while (!columns_ended(column, FRAME_COLUMNS)) {
		uint32_t number;

		if (r->nframe >= STACKS_FRAMES_MAX || !get_frame(r, column, &last, &f))
			return "a frame of a call stack";
		number = stacks_frame(r->s, f.parent, f.kind, f.image, f.addr);
		if (!number || !number_frame(r, number))
			return "no memory";
	}
	return NULL;
}

static const char *read_frames(struct rows *r, sqlite3_stmt *q)
{
	struct cursor column[FRAME_COLUMNS];
	const char *why;

	if (sqlite3_column_int64(q, 2) != (int64_t)r->nframe)
		return "frames of call stacks that are not in order";
	why = unpack(r, q, column, FRAME_COLUMNS);
	return why ? why : take_frames(r, column);
}

static const char *text(sqlite3_stmt *q, int i)
{
	const char *t = (const char *)sqlite3_column_text(q, i);

	return t ? t : "";
}

static const char *read_thread(struct rows *r, sqlite3_stmt *q)
{
	int64_t run = sqlite3_column_int64(q, 1), pid = sqlite3_column_int64(q, 2),
		tid = sqlite3_column_int64(q, 3);
	long number;

	if (sqlite3_column_int64(q, 0) != (int64_t)r->nthread || run < 0 ||
	    (size_t)run >= r->to->p->nrun - r->to->first_run || pid < 0 || pid > UINT32_MAX ||
	    tid < 0 || tid > UINT32_MAX)
		return "a thread of call stacks";
	number = stacks_thread(r->s, (uint32_t)run + (uint32_t)r->to->first_run, (uint32_t)pid,
			       (uint32_t)tid, text(q, 4), text(q, 5));
	if (number < 0 || !array_one_more(r->thread, r->nthread))
		return "no memory";
	r->thread[r->nthread++] = (uint32_t)number;
	return NULL;
}

/* Reads a sample, which is numbered as the file does; *before: the one before it. */
static bool get_sample(const struct rows *r, struct cursor *column, struct before *before)
{
	uint64_t v[SAMPLE_COLUMNS], thread, bucket, frame;
	double time;

	for (unsigned i = 0; i < SAMPLE_COLUMNS; i++)
		if (!varint_get(&column[i], &v[i]))
			return false;
	thread = before->sample.thread + (uint64_t)unzigzag(v[SAMPLE_THREAD]);
	bucket = before->sample.bucket + (uint64_t)unzigzag(v[SAMPLE_BUCKET]);
	frame = before->sample.frame + (uint64_t)unzigzag(v[SAMPLE_FRAME]);
	time = times_get(&before->times, v[SAMPLE_TIME], v[SAMPLE_COUNT]);
	if (thread >= r->nthread || bucket >= STACKS_BUCKETS || frame >= r->nframe || !frame ||
	    !v[SAMPLE_COUNT] || v[SAMPLE_COUNT] > UINT32_MAX || !isfinite(time) || time < 0 ||
	    time > TIME_MAX)
		return false;
	before->sample = (struct stack_sample){ (uint32_t)frame, (uint32_t)thread, (uint32_t)bucket,
						(uint32_t)v[SAMPLE_COUNT], time };
	return true;
}

static const char *take_samples(struct rows *r, struct cursor *column, uint64_t width)
{
	const uint32_t *number = (uint32_t *)(void *)r->numbers.p;
	struct before before = { 0 };

	while (!columns_ended(column, SAMPLE_COLUMNS)) {
		const struct stack_sample *one = &before.sample;

		if (!get_sample(r, column, &before))
			return "a sample of a call stack";
		if (stacks_add(r->s, number[one->frame], r->thread[one->thread],
			       one->bucket * width, one->count, one->time))
			return "no memory";
	}
	return NULL;
}

static const char *read_samples(struct rows *r, sqlite3_stmt *q)
{
	uint64_t width = (uint64_t)sqlite3_column_int64(q, 2);
	struct cursor column[SAMPLE_COLUMNS];
	const char *why;

	if (!stacks_is_width(width))
		return "the times of call stacks";
	stacks_widen(r->s, width);
	why = unpack(r, q, column, SAMPLE_COLUMNS);
	return why ? why : take_samples(r, column, width);
}

static const char *each(sqlite3 *db, const char *sql, struct rows *r,
			const char *(*row)(struct rows *, sqlite3_stmt *), int *code)
{
	const char *why = NULL;
	sqlite3_stmt *q;

	*code = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
	while (*code == SQLITE_OK || *code == SQLITE_ROW) {
		*code = sqlite3_step(q);
		if (*code != SQLITE_ROW)
			break;
		why = row(r, q);
		if (why)
			break;
	}
	sqlite3_finalize(q);
	if (why || *code == SQLITE_DONE)
		*code = SQLITE_OK;
	return why;
}

const char *stack_rows_read(sqlite3 *db, const struct stack_rows_to *to, int *code)
{
	struct rows r = { .to = to, .s = &to->p->stacks };
	const char *why = number_frame(&r, 0) ? NULL : "no memory";

	*code = SQLITE_OK;
	if (!why)
		why = each(db, "SELECT size, frames, first FROM frame ORDER BY first", &r,
			   read_frames, code);
	if (!why && *code == SQLITE_OK)
		why = each(db,
			   "SELECT number, run, pid, tid, comm, cgroup FROM stack_thread"
			   " ORDER BY number",
			   &r, read_thread, code);
	if (!why && *code == SQLITE_OK)
		why = each(db, "SELECT size, samples, width FROM stack ORDER BY part", &r,
			   read_samples, code);
	free(r.numbers.p);
	free(r.blob.p);
	free(r.thread);
	return why;
}
