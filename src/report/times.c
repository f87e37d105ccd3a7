/* SPDX-License-Identifier: MIT */
#include "report/times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "report/cycles.h"
#include "report/misses.h"
#include "query/share.h"

/* A row of the table: an image, a procedure or a line. */
struct entry {
	struct view_sum sum;
	uint32_t image, proc;
	const char *file; /* source file, for lines */
	int line;
};

struct entries {
	struct entry *v;
	size_t n;
};

enum {
	COLUMN_SHARE,
	COLUMN_BOUND,
	COLUMN_SAMPLES,
	COLUMN_IMAGE
};

static const struct column image_columns[] = {
	{ "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	{ "bound", "+-", "%", 5, EMIT_RIGHT, EMIT_SHARE },
	{ "samples", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	{ "image", "image", NULL, 0, EMIT_LEFT_TAIL, EMIT_TEXT },
};

static const struct column proc_columns[] = {
	{ "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	{ "bound", "+-", "%", 5, EMIT_RIGHT, EMIT_SHARE },
	{ "samples", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	{ "image", "image", NULL, 14, EMIT_LEFT, EMIT_TEXT },
	{ "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
	{ "address", NULL, NULL, 0, EMIT_LEFT, EMIT_ADDR },
};

static const struct column line_columns[] = {
	{ "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	{ "bound", "+-", "%", 5, EMIT_RIGHT, EMIT_SHARE },
	{ "samples", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	{ "line", "line", NULL, 22, EMIT_LEFT_TAIL, EMIT_TEXT },
	{ "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
	{ "image", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static int entry_order(const void *a, const void *b)
{
	const struct entry *e = a, *f = b;
	int order = view_sum_order(&e->sum, &f->sum);

	if (order)
		return order;
	if (e->image != f->image)
		return e->image < f->image ? -1 : 1;
	if (e->proc != f->proc)
		return e->proc < f->proc ? -1 : 1;
	return (e->line > f->line) - (e->line < f->line);
}

static void sort_entries(struct entries *es)
{
	qsort(es->v, es->n, sizeof(*es->v), entry_order);
}

/* Adapts a column to exact recordings, whose executions have no bounds. */
static void make_exact(struct column *c)
{
	c[COLUMN_BOUND].key = c[COLUMN_BOUND].header = NULL;
	c[COLUMN_SAMPLES] =
		(struct column){ "executions", "instructions", NULL, 15, EMIT_RIGHT, EMIT_COUNT };
}

/* Adds an entry for a site; sites without samples took no time. */
static void add_entry(const struct view *v, struct entries *es, const struct entry *e)
{
	if (view_sum_count(v, &e->sum))
		es->v[es->n++] = *e;
}

static int collect_images(const struct view *v, const char *glob, struct entries *es)
{
	es->v = malloc((v->profile->nimage + 1) * sizeof(*es->v));
	es->n = 0;
	for (uint32_t i = 0; es->v && i < v->profile->nimage; i++)
		if (view_image_matches(v, i, glob))
			add_entry(v, es, &(struct entry){ .sum = v->image[i].sum, .image = i });
	return es->v ? 0 : -1;
}

static int collect_procs(const struct view *v, const char *glob, struct entries *es)
{
	es->v = malloc((v->nproc + 1) * sizeof(*es->v));
	es->n = 0;
	for (uint32_t i = 0; es->v && i < v->nproc; i++)
		if (view_image_matches(v, v->proc[i].image, glob))
			add_entry(v, es,
				  &(struct entry){ .sum = v->proc[i].sum,
						   .proc = i,
						   .image = v->proc[i].image });
	return es->v ? 0 : -1;
}

static int by_place(const void *a, const void *b)
{
	const struct entry *e = a, *f = b;
	int order;

	if (e->image != f->image)
		return e->image < f->image ? -1 : 1;
	if (e->proc != f->proc)
		return e->proc < f->proc ? -1 : 1;
	order = strcmp(e->file ? e->file : "", f->file ? f->file : "");
	return order ? order : (e->line > f->line) - (e->line < f->line);
}

/* Adds up entries of the same place. */
static void fold(struct entries *es)
{
	size_t k = 0;

	qsort(es->v, es->n, sizeof(*es->v), by_place);
	for (size_t i = 0; i < es->n; i++) {
		if (k && !by_place(&es->v[k - 1], &es->v[i])) {
			es->v[k - 1].sum.samples += es->v[i].sum.samples;
			es->v[k - 1].sum.observed += es->v[i].sum.observed;
			es->v[k - 1].sum.time += es->v[i].sum.time;
		} else {
			es->v[k++] = es->v[i];
		}
	}
	es->n = k;
}

static int collect_lines(struct reading *r, const char *glob, struct entries *es)
{
	const struct view *v = &r->view;

	es->v = malloc((v->n + 1) * sizeof(*es->v));
	es->n = 0;
	for (size_t i = 0; es->v && i < v->n; i++) {
		const struct site *s = v->site[i];
		struct entry e = { .sum = { s->samples, s->observed, view_time(v, s) },
				   .image = s->id.image,
				   .proc = v->proc_of[i] };
		struct image *im;

		if (!view_count(v, s) || !view_image_matches(v, e.image, glob))
			continue;
		im = binaries_get(&r->binaries, e.image);
		if (im && !image_line(im, s->id.addr, &e.file, &e.line)) {
			e.file = NULL;
			e.line = 0;
		}
		add_entry(v, es, &e);
	}
	if (es->v)
		fold(es);
	return es->v ? 0 : -1;
}

static void print_entry(struct reading *r, const struct column *c, const struct entry *e)
{
	const struct view *v = &r->view;
	double share = view_share(v, e->sum.time);
	struct share s = share_of(share * (double)v->sum.samples, (double)v->sum.samples);
	const struct view_proc *p = v->nproc ? &v->proc[e->proc] : NULL;
	struct cell cell[EMIT_COLUMNS] = {
		[COLUMN_SHARE] = cell_real(share),
		[COLUMN_BOUND] = cell_real(s.bound),
		[COLUMN_SAMPLES] = cell_count(view_sum_count(v, &e->sum)),
		[COLUMN_IMAGE] = cell_text(v->image[e->image].name),
	};
	char name[1024], line[4300];

	if (c == image_columns) {
		cell[COLUMN_IMAGE] = cell_text(v->profile->image[e->image]->path);
	} else if (p) {
		cell[COLUMN_IMAGE + 1] = cell_text(view_proc_name(p, name, sizeof(name)));
		cell[COLUMN_IMAGE + 2] = p->end ? cell_count(p->start) : cell_none();
	}
	if (c == line_columns) {
		snprintf(line, sizeof(line), "%s:%d", e->file ? text_last_component(e->file) : "",
			 e->line);
		cell[COLUMN_IMAGE] = cell_text(e->file ? line : NULL);
		cell[COLUMN_IMAGE + 2] = cell_text(v->image[e->image].name);
	}
	emit_row(&r->emit, cell);
}

static const struct term sampled_terms[] = {
	{ "share", "of the CPU time that was sampled" },
	{ "+-", "the true share lies within this bound with 95 % confidence" },
	{ "samples", "timer interrupts that found the program there" },
	{ "[kernel]", "time in the kernel on the program's behalf" },
	{ "[anon]", "code that no file holds, such as that of a just-in-time compiler" },
	{ "sub_ADDRESS", "a procedure of a stripped file, which unwind information bounds" },
	{ "ahead", "instructions that each sample runs ahead of the program, to see values" },
	{ "lost", "samples that the recorder could not keep up with" },
	{ "unattributed", "samples whose address is in no known file" },
	{ "cost", "CPU time of the recorder and of running ahead, as a share of the program's; "
		  "what starting and ending took stands apart" },
	{ 0 },
};

static const struct term exact_terms[] = {
	{ "share", "of the executed instructions, all of them counted" },
	{ "executions", "instructions executed there" },
	{ "sub_ADDRESS", "a procedure of a stripped file, which unwind information bounds" },
	{ 0 },
};

static void say_hidden(struct reading *r, const struct entries *es, size_t shown, const char *what)
{
	struct view_sum rest = { 0, 0, 0 };
	char count[32], share[16];

	for (size_t i = shown; i < es->n; i++)
		rest.time += es->v[i].sum.time;
	if (shown == es->n)
		return;
	emit_footer(&r->emit, "%s more %s%s with %s %% of the %s: -n 0 shows all",
		    fmt_count(es->n - shown, count, sizeof(count)), what, plural(es->n - shown),
		    fmt_percent(view_share(&r->view, rest.time), share, sizeof(share)),
		    view_whole(&r->view));
}

static void say_without_lines(struct reading *r, const struct entries *es)
{
	double time = 0;
	char share[16];

	for (size_t i = 0; i < es->n; i++)
		time += es->v[i].file ? 0 : es->v[i].sum.time;
	if (time > 0)
		emit_footer(&r->emit,
			    "%s %% of the %s %s in code without line information: shown by "
			    "procedure",
			    fmt_percent(view_share(&r->view, time), share, sizeof(share)),
			    view_whole(&r->view), r->view.exact ? "are" : "is");
}

static void print_table(struct reading *r, const struct times_options *o, struct entries *es,
			const struct column *c, int columns, const char *what)
{
	size_t shown = o->n && o->n < es->n ? o->n : es->n;
	struct column own[EMIT_COLUMNS];
	char key[32];

	memcpy(own, c, (size_t)columns * sizeof(*c));
	if (r->view.exact)
		make_exact(own);
	sort_entries(es);
	snprintf(key, sizeof(key), "%ss", what);
	emit_table(&r->emit, key, own, columns);
	for (size_t i = 0; i < shown; i++)
		print_entry(r, c, &es->v[i]);
	say_hidden(r, es, shown, what);
	if (c == line_columns)
		say_without_lines(r, es);
	snprintf(key, sizeof(key), "%ss_total", what);
	emit_set(&r->emit, key, json_integer((json_int_t)es->n));
	free(es->v);
}

static bool shows(const struct times_options *o, const char *what)
{
	return o->by ? !strcmp(o->by, what) : strcmp(what, "line") != 0;
}

static int check_filter(const struct reading *r, const char *glob, struct err *err)
{
	for (uint32_t i = 0; i < r->profile.nimage; i++)
		if (view_sum_count(&r->view, &r->view.image[i].sum) &&
		    view_image_matches(&r->view, i, glob))
			return 0;
	if (!glob)
		return err_set(err, ERR_EMPTY, "%s holds no samples", r->path);
	err_set(err, ERR_EMPTY, "no image with %s matches '%s'",
		r->view.exact ? "executed instructions" : "samples", glob);
	return err_hint(err, "`assay report --by image` lists them");
}

int times_print(struct reading *r, const struct times_options *o, struct err *err)
{
	struct entries es;

	if (check_filter(r, o->image, err))
		return -1;
	reading_heading(r);
	if (shows(o, "image")) {
		if (collect_images(&r->view, o->image, &es))
			return err_no_memory(err, "the report");
		print_table(r, o, &es, image_columns, COUNT_OF(image_columns), "image");
		if (!o->by)
			emit_line(&r->emit, "%s", "");
	}
	if (shows(o, "procedure")) {
		if (collect_procs(&r->view, o->image, &es))
			return err_no_memory(err, "the report");
		print_table(r, o, &es, proc_columns, COUNT_OF(proc_columns), "procedure");
	}
	if (shows(o, "line")) {
		if (collect_lines(r, o->image, &es))
			return err_no_memory(err, "the report");
		print_table(r, o, &es, line_columns, COUNT_OF(line_columns), "line");
	}
	if (shows(o, "procedure") &&
	    (cycles_print(r, o->image, o->n) || misses_print(r, o->image, o->n)))
		return err_no_memory(err, "the report");
	emit_line(&r->emit, "%s", "");
	emit_footer(&r->emit, "Closer: --by line, --image GLOB, `assay annotate PROCEDURE`, "
			      "`assay values`.");
	emit_terms(&r->emit, r->view.exact ? exact_terms : sampled_terms);
	return 0;
}
