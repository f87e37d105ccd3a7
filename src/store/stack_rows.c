/* SPDX-License-Identifier: MIT */
#include "store/stack_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/varint.h"

#define PART 262144 /* frames or samples of a row at most */
#define FRAME_BYTES (4 * VARINT_MAX)
#define SAMPLE_BYTES (4 * VARINT_MAX + sizeof(double))
#define ROW_MAX (PART * (SAMPLE_BYTES > FRAME_BYTES ? SAMPLE_BYTES : FRAME_BYTES))
#define TIME_MAX 1e18 /* most time of one row's samples */

/* Writing. */

/* Writes a row of (number, size, blob), with the blob compressed. */
static int write_row(sqlite3 *db, const char *sql, uint64_t number, const struct buffer *b)
{
	size_t bound = ZSTD_compressBound(b->n), n;
	uint8_t *out = malloc(bound);
	sqlite3_stmt *s = NULL;
	int rc;

	if (!out)
		return SQLITE_NOMEM;
	n = ZSTD_compress(out, bound, b->p, b->n, 1);
	rc = ZSTD_isError(n) ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)number);
		sqlite3_bind_int64(s, 2, (sqlite3_int64)b->n);
		sqlite3_bind_blob(s, 3, out, (int)n, SQLITE_STATIC);
		rc = sqlite3_step(s);
	}
	sqlite3_finalize(s);
	free(out);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void put_frame(struct buffer *b, const struct frame *f, size_t number, uint64_t *last)
{
	varint_put(b, number - f->parent);
	varint_put(b, f->kind);
	if (frame_is_end(f->kind))
		return;
	varint_put(b, f->image);
	varint_put(b, zigzag((int64_t)(f->addr - *last)));
	*last = f->addr;
}

static int append_frames(sqlite3 *db, const struct stacks *s, size_t from)
{
	struct buffer b = { 0 };
	int rc = SQLITE_OK;

	for (size_t i = from ? from : 1, end; i < s->nframe && rc == SQLITE_OK; i = end) {
		uint64_t last = 0;

		end = s->nframe - i > PART ? i + PART : s->nframe;
		b.n = 0;
		if (!buffer_room(&b, (end - i) * FRAME_BYTES)) {
			rc = SQLITE_NOMEM;
			break;
		}
		for (size_t k = i; k < end; k++)
			put_frame(&b, &s->frame[k], k, &last);
		rc = write_row(db, "INSERT INTO frame VALUES(?,?,?)", i, &b);
	}
	free(b.p);
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

static void put_sample(struct buffer *b, const struct stack_sample *one, uint32_t *last)
{
	varint_put(b, one->thread);
	varint_put(b, one->bucket);
	varint_put(b, zigzag((int64_t)one->frame - *last));
	varint_put(b, one->count);
	memcpy(b->p + b->n, &one->time, sizeof(one->time));
	b->n += sizeof(one->time);
	*last = one->frame;
}

static int append_samples(sqlite3 *db, const struct stacks *s, size_t from)
{
	struct buffer b = { 0 };
	int rc = SQLITE_OK;

	for (size_t i = from, end; i < s->nsample && rc == SQLITE_OK; i = end) {
		uint32_t last = 0;

		end = s->nsample - i > PART ? i + PART : s->nsample;
		b.n = 0;
		if (!buffer_room(&b, (end - i) * SAMPLE_BYTES)) {
			rc = SQLITE_NOMEM;
			break;
		}
		for (size_t k = i; k < end; k++)
			put_sample(&b, &s->sample[k], &last);
		rc = write_row(db, "INSERT INTO stack(width, size, samples) VALUES(?,?,?)",
			       s->width, &b);
	}
	free(b.p);
	return rc;
}

int stack_rows_append(sqlite3 *db, const struct stacks *s, struct stack_rows *done)
{
	bool reordered = s->folds != done->folds;
	int rc = reordered ? sqlite3_exec(db, "DELETE FROM stack", NULL, NULL, NULL) : SQLITE_OK;

	if (reordered)
		done->samples = 0;
	if (rc == SQLITE_OK)
		rc = append_frames(db, s, done->frames);

	if (rc == SQLITE_OK)
		rc = append_threads(db, s, done->threads);
	if (rc == SQLITE_OK)
		rc = append_samples(db, s, done->samples);
	*done = (struct stack_rows){ s->nframe, s->nthread, s->nsample, s->folds };
	return rc;
}

int stack_rows_replace(sqlite3 *db, const struct stacks *s, struct stack_rows *done)
{
	int rc = sqlite3_exec(db, "DELETE FROM stack", NULL, NULL, NULL);

	done->samples = 0;
	done->folds = s->folds;
	return rc == SQLITE_OK ? stack_rows_append(db, s, done) : rc;
}

/* Reading. Nothing is trusted. */

struct rows {
	const struct stack_rows_to *to;
	struct stacks *s;
	struct buffer numbers; /* uint32_t: by frame of the file, the frame of the profile */
	size_t nframe;
	uint32_t *thread; /* by thread of the file, the thread of the profile */
	size_t nthread;
};

/* The blob of a row of (number, size, blob), to be freed; NULL: *why. */
static uint8_t *unpack(struct rows *r, sqlite3_stmt *q, size_t *n, const char **why)
{
	int64_t size = sqlite3_column_int64(q, 1);
	const void *blob = sqlite3_column_blob(q, 2);
	size_t stored = (size_t)sqlite3_column_bytes(q, 2);
	uint8_t *out;

	*n = (size_t)size;
	*why = "call stacks";
	if (size < 1 || (uint64_t)size > ROW_MAX || !blob ||
	    ZSTD_getFrameContentSize(blob, stored) != (unsigned long long)size)
		return NULL;
	*why = "call stacks expand to more than their size allows";
	if (!budget_take(r->to->budget, *n, stored, BUDGET_KEPT))
		return NULL;
	*why = "no memory";
	out = malloc(*n);
	if (out && ZSTD_decompress(out, *n, blob, stored) != *n) {
		*why = "call stacks";
		free(out);
		return NULL;
	}
	return out;
}

static bool get_frame(struct rows *r, struct cursor *c, uint64_t *last, struct frame *f)
{
	uint64_t up, kind, image = 0, addr = 0;

	if (!varint_get(c, &up) || !varint_get(c, &kind) || !up || up > r->nframe ||
	    kind == FRAME_NONE || kind >= FRAME_KIND_N)
		return false;
	if (!frame_is_end((unsigned)kind)) {
		if (!varint_get(c, &image) || !varint_get(c, &addr) || image >= r->to->nmap)
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

static const char *take_frames(struct rows *r, struct cursor c)
{
	uint64_t last = 0;
	struct frame f;

	while (c.p < c.end) {
		uint32_t number;

		if (r->nframe >= STACKS_FRAMES_MAX || !get_frame(r, &c, &last, &f))
			return "a frame of a call stack";
		number = stacks_frame(r->s, f.parent, f.kind, f.image, f.addr);
		if (!number || !number_frame(r, number))
			return "no memory";
	}
	return NULL;
}

static const char *read_frames(struct rows *r, sqlite3_stmt *q)
{
	const char *why;
	uint8_t *blob;
	size_t n;

	if (sqlite3_column_int64(q, 0) != (int64_t)r->nframe)
		return "frames of call stacks that are not in order";
	blob = unpack(r, q, &n, &why);
	if (!blob)
		return why;
	why = take_frames(r, (struct cursor){ blob, blob + n });
	free(blob);
	return why;
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

static bool get_sample(struct rows *r, struct cursor *c, uint64_t *frame, struct stack_sample *to)
{
	uint64_t thread, bucket, from, count;
	double time;

	if (!varint_get(c, &thread) || !varint_get(c, &bucket) || !varint_get(c, &from) ||
	    !varint_get(c, &count) || c->end - c->p < (ptrdiff_t)sizeof(time))
		return false;
	memcpy(&time, c->p, sizeof(time));
	c->p += sizeof(time);
	*frame += (uint64_t)unzigzag(from);
	if (thread >= r->nthread || bucket >= STACKS_BUCKETS || *frame >= r->nframe || !*frame ||
	    !count || count > UINT32_MAX || !isfinite(time) || time < 0 || time > TIME_MAX)
		return false;
	*to = (struct stack_sample){ ((uint32_t *)(void *)r->numbers.p)[*frame], r->thread[thread],
				     (uint32_t)bucket, (uint32_t)count, time };
	return true;
}

static const char *take_samples(struct rows *r, struct cursor c, uint64_t width)
{
	struct stack_sample one;
	uint64_t frame = 0;

	while (c.p < c.end) {
		if (!get_sample(r, &c, &frame, &one))
			return "a sample of a call stack";
		if (stacks_add(r->s, one.frame, one.thread, one.bucket * width, one.count,
			       one.time))
			return "no memory";
	}
	return NULL;
}

static const char *read_samples(struct rows *r, sqlite3_stmt *q)
{
	uint64_t width = (uint64_t)sqlite3_column_int64(q, 0);
	const char *why;
	uint8_t *blob;
	size_t n;

	if (!stacks_is_width(width))
		return "the times of call stacks";
	stacks_widen(r->s, width);
	blob = unpack(r, q, &n, &why);
	if (!blob)
		return why;
	why = take_samples(r, (struct cursor){ blob, blob + n }, width);
	free(blob);
	return why;
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
		why = each(db, "SELECT first, size, frames FROM frame ORDER BY first", &r,
			   read_frames, code);
	if (!why && *code == SQLITE_OK)
		why = each(db,
			   "SELECT number, run, pid, tid, comm, cgroup FROM stack_thread"
			   " ORDER BY number",
			   &r, read_thread, code);
	if (!why && *code == SQLITE_OK)
		why = each(db, "SELECT width, size, samples FROM stack ORDER BY part", &r,
			   read_samples, code);
	free(r.numbers.p);
	free(r.thread);
	return why;
}
