/* SPDX-License-Identifier: MIT */
#include "report/diff_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Returns the amount of the measure that one unit of the view's time stands for. */
static double unit_of(const struct diff_rows *rows, const struct reading *r)
{
	const struct view *v = &r->view;
	double runs = r->profile.nrun ? (double)r->profile.nrun : 1;

	if (rows->measure == DIFF_SHARE)
		return v->sum.time > 0 ? 1 / v->sum.time : 0;
	if (rows->measure == DIFF_TIME && v->sum.time > 0)
		return (double)v->counters.program_ns / v->sum.time / runs;
	return 1 / runs;
}

/* Recordings. */

struct place_in {
	const struct diff_side *side; /* both sides */
	int which;
	size_t at;
	double unit;
};

static struct diff_row *new_row(struct diff_rows *rows, const struct diff_side side[2], char *key)
{
	struct diff_row *row = calloc(1, sizeof(*row));

	if (!row || !key)
		goto fail;
	row->key = key;
	row->a.each[0] = calloc(side[0].n + side[1].n, sizeof(*row->a.each[0]));
	if (!row->a.each[0])
		goto fail;
	row->a.each[1] = row->a.each[0] + side[0].n;
	HASH_ADD_KEYPTR(hh, rows->by_key, key, strlen(key), row);
	if (!row->hh.tbl) {
		free(row->a.each[0]);
		goto fail;
	}
	rows->n++;
	return row;
fail:
	free(row);
	free(key);
	return NULL;
}

static void add(struct diff_row *row, const struct place_in *in, const struct view *v,
		const struct view_sum *sum)
{
	double amount = sum->time * in->unit;

	row->a.count[in->which] += (double)view_sum_count(v, sum);
	row->a.each[in->which][in->at] += amount;
	row->a.mean[in->which] += amount / (double)in->side[in->which].n;
}

/* Stripped files are named by address: the same name of another build is another procedure. */
static const char *build_of(struct diff_rows *rows, const struct place_in *in,
			    const struct profile_image *pi)
{
	const struct diff_side *other = &in->side[!in->which];

	if (!pi->stripped || rows->by == DIFF_IMAGE)
		return "";
	for (size_t k = 0; k < other->n; k++)
		for (size_t i = 0; i < other->reading[k].profile.nimage; i++) {
			const struct profile_image *q = other->reading[k].profile.image[i];

			if (!strcmp(text_last_component(q->path), text_last_component(pi->path)) &&
			    strcmp(q->build_id, pi->build_id) != 0)
				rows->unmatched = true;
		}
	return pi->build_id;
}

/* procedure, line: "" where rows are not by those. */
static int add_named(struct diff_rows *rows, const struct place_in *in, const char *image,
		     const char *build, const char *procedure, const char *line,
		     const struct view_sum *sum)
{
	const struct view *v = &in->side[in->which].reading[in->at].view;
	struct diff_row *row;
	char *key;

	if (asprintf(&key, "%s\n%s\n%s\n%s", image, build, procedure, line) < 0)
		return -1;
	HASH_FIND_STR(rows->by_key, key, row);
	if (row) {
		free(key);
		add(row, in, v, sum);
		return 0;
	}
	row = new_row(rows, in->side, key);
	if (!row)
		return -1;
	row->image = strdup(image);
	row->procedure = *procedure ? strdup(procedure) : NULL;
	row->line = *line ? strdup(line) : NULL;
	add(row, in, v, sum);
	return row->image ? 0 : -1;
}

static int add_images(struct diff_rows *rows, const struct place_in *in, const char *glob)
{
	const struct view *v = &in->side[in->which].reading[in->at].view;

	for (uint32_t i = 0; i < v->profile->nimage; i++)
		if (view_image_matches(v, i, glob) && view_sum_count(v, &v->image[i].sum) &&
		    add_named(rows, in, v->image[i].name, "", "", "", &v->image[i].sum))
			return -1;
	return 0;
}

static int add_procs(struct diff_rows *rows, const struct place_in *in, const char *glob)
{
	const struct view *v = &in->side[in->which].reading[in->at].view;
	char name[1024];

	for (size_t i = 0; i < v->nproc; i++) {
		const struct view_proc *p = &v->proc[i];

		if (view_image_matches(v, p->image, glob) && view_sum_count(v, &p->sum) &&
		    add_named(rows, in, v->image[p->image].name,
			      build_of(rows, in, v->image[p->image].image),
			      view_proc_name(p, name, sizeof(name)), "", &p->sum))
			return -1;
	}
	return 0;
}

static int add_lines(struct diff_rows *rows, const struct place_in *in, const char *glob)
{
	struct reading *r = &in->side[in->which].reading[in->at];
	const struct view *v = &r->view;
	char name[1024], line[4300];

	for (size_t i = 0; i < v->n; i++) {
		const struct site *s = v->site[i];
		const struct view_proc *p = &v->proc[v->proc_of[i]];
		struct view_sum sum = { s->samples, s->observed, view_time(v, s) };
		struct image *im;
		const char *file;
		int number;

		if (!view_count(v, s) || !view_image_matches(v, p->image, glob))
			continue;
		im = binaries_get(&r->binaries, p->image);
		line[0] = 0;
		if (im && image_line(im, s->id.addr, &file, &number))
			snprintf(line, sizeof(line), "%s:%d", text_last_component(file), number);
		if (add_named(rows, in, v->image[p->image].name,
			      build_of(rows, in, v->image[p->image].image),
			      view_proc_name(p, name, sizeof(name)), line, &sum))
			return -1;
	}
	return 0;
}

int diff_rows_collect(struct diff_rows *rows, const struct diff_side side[2], const char *image)
{
	static int (*const add_all[])(struct diff_rows *, const struct place_in *,
				      const char *) = { add_images, add_procs, add_lines };

	rows->between = side[0].n >= DIFF_RUNS_LEAST && side[1].n >= DIFF_RUNS_LEAST;
	for (int which = 0; which < 2; which++) {
		rows->total_each[which] = calloc(side[which].n, sizeof(double));
		if (!rows->total_each[which])
			return -1;
		for (size_t k = 0; k < side[which].n; k++) {
			const struct reading *r = &side[which].reading[k];
			struct place_in in = { side, which, k, unit_of(rows, r) };

			rows->total_each[which][k] = r->view.sum.time * in.unit;
			rows->total[which] += rows->total_each[which][k] / (double)side[which].n;
			if (add_all[rows->by](rows, &in, image))
				return -1;
		}
	}
	return 0;
}

/* Judgement. */

/* The mean amount that one sample of a side stands for. */
static double event_of(const struct diff_rows *rows, const struct diff_side *side, int which)
{
	double samples = 0;

	for (size_t k = 0; k < side->n; k++)
		samples +=
			(double)view_sum_count(&side->reading[k].view, &side->reading[k].view.sum);
	return samples > 0 ? rows->total[which] / samples : 0;
}

void diff_rows_scale(const struct diff_rows *rows, const struct diff_side side[2],
		     struct diff_scale *scale)
{
	*scale = (struct diff_scale){
		.event = { event_of(rows, &side[0], 0), event_of(rows, &side[1], 1) },
		.n = { side[0].n, side[1].n },
		.exact = rows->measure == DIFF_EXECUTIONS,
		.between = rows->between,
	};
}

/* Sorts the largest change first; rows without a change by name. */
static int row_order(const void *a, const void *b)
{
	const struct diff_row *x = *(const struct diff_row *const *)a,
			      *y = *(const struct diff_row *const *)b;
	double dx = fabs(x->a.mean[1] - x->a.mean[0]), dy = fabs(y->a.mean[1] - y->a.mean[0]);

	if (x->a.verdict != y->a.verdict)
		return x->a.verdict < y->a.verdict ? -1 : 1;
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->key, y->key);
}

static void judge_total(struct diff_rows *rows, const struct diff_side side[2])
{
	struct sample_mean m[2];

	rows->total_ratio = (struct limits){ NAN, NAN };
	if (!rows->between || rows->total[0] <= 0 || rows->total[1] <= 0)
		return;
	for (int i = 0; i < 2; i++)
		m[i] = significance_mean(rows->total_each[i], side[i].n, 0);
	rows->total_ratio = significance_means_ratio(&m[0], &m[1]);
}

int diff_rows_judge(struct diff_rows *rows, const struct diff_side side[2])
{
	struct diff_amounts **a = calloc(rows->n + 1, sizeof(*a));
	struct diff_row *row, *next;
	struct diff_scale scale;
	size_t n = 0;
	int rc = -1;

	rows->row = calloc(rows->n + 1, sizeof(struct diff_row *));
	if (!a || !rows->row)
		goto done;
	HASH_ITER (hh, rows->by_key, row, next) {
		rows->row[n] = row;
		a[n++] = &row->a;
	}
	diff_rows_scale(rows, side, &scale);
	if (diff_judge(a, n, &scale, &rows->least))
		goto done;
	for (size_t i = 0; i < n; i++)
		rows->of[a[i]->verdict]++;
	qsort(rows->row, n, sizeof(*rows->row), row_order);
	judge_total(rows, side);
	rc = 0;
done:
	free(a);
	return rc;
}

void diff_rows_fini(struct diff_rows *rows)
{
	struct diff_row *row, *next;

	HASH_ITER (hh, rows->by_key, row, next) {
		HASH_DEL(rows->by_key, row);
		free(row->key);
		free(row->image);
		free(row->procedure);
		free(row->line);
		free(row->a.each[0]);
		free(row);
	}
	free(rows->row);
	free(rows->total_each[0]);
	free(rows->total_each[1]);
}
