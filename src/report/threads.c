/* SPDX-License-Identifier: MIT */
#include "report/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "report/calltree.h"

#define LOAD_THREADS 8
#define LOAD_CELLS 48
#define LOAD_LABEL 24

enum by {
	BY_PROCESS,
	BY_THREAD,
	BY_COMM,
	BY_CGROUP,
	BY_N
};
static const char *const by_name[BY_N] = { "process", "thread", "comm", "cgroup" };

/* Properties that the threads of one row share. */
struct group {
	uint32_t run, pid, tid;
	const char *comm;   /* name of the process's first thread, if there are several */
	const char *cgroup; /* likewise */
	/* whether the name comes from the process's first thread, or from this one */
	bool named;
	double named_time; /* time of that thread while it had this name */
	uint64_t samples;
	double time;
	uint32_t first; /* the first thread's number, where all other properties are equal */
};

struct groups {
	struct group *v;
	size_t n;
	uint32_t *of; /* by thread: its group */
	enum by by;
	double time;
};

bool threads_is(const char *by)
{
	for (int i = 0; by && i < BY_N; i++)
		if (!strcmp(by, by_name[i]))
			return true;
	return false;
}

static enum by by_of(const char *name)
{
	int i = 0;

	while (i < BY_N - 1 && strcmp(name, by_name[i]))
		i++;
	return i;
}

/* Compares two threads. */
static int order(const struct stack_thread *a, const struct stack_thread *b, enum by by)
{
	if (by == BY_COMM)
		return strcmp(a->comm, b->comm);
	if (by == BY_CGROUP)
		return strcmp(a->cgroup, b->cgroup);
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (by == BY_PROCESS || a->tid == b->tid)
		return 0;
	return a->tid < b->tid ? -1 : 1;
}

struct sorting {
	const struct stack_thread *thread;
	enum by by;
};

static int by_group(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int d = order(&s->thread[i], &s->thread[k], s->by);

	return d ? d : (i > k) - (i < k);
}

/* A thread that executes several programs has several names in turn: its group takes the name under which the thread
 * spent most time, `time`. A process has the name of its first thread. */
static void join(struct group *g, const struct stack_thread *t, enum by by, double time)
{
	bool names = by == BY_THREAD || t->tid == t->pid;

	if (g->comm && (names < g->named || (names == g->named && time < g->named_time)))
		return;
	g->comm = t->comm;
	g->cgroup = t->cgroup;
	g->named = names;
	g->named_time = time;
}

/* Returns groups by thread; NULL without memory. */
static double *times_of(const struct stacks *s)
{
	double *time = calloc(s->nthread + 1, sizeof(*time));

	for (size_t i = 0; time && i < s->nsample; i++)
		time[s->sample[i].thread] += s->sample[i].time;
	return time;
}

static int make_groups(struct groups *g, const struct stacks *s, enum by by)
{
	struct sorting sorting = { s->thread, by };
	uint32_t *order_of = calloc(s->nthread + 1, sizeof(*order_of));
	double *time = times_of(s);

	*g = (struct groups){ .v = calloc(s->nthread + 1, sizeof(*g->v)),
			      .of = calloc(s->nthread + 1, sizeof(*g->of)),
			      .by = by };
	if (!order_of || !time || !g->v || !g->of) {
		free(order_of);
		free(time);
		return -1;
	}
	for (uint32_t i = 0; i < s->nthread; i++)
		order_of[i] = i;
	qsort_r(order_of, s->nthread, sizeof(*order_of), by_group, &sorting);
	for (size_t i = 0; i < s->nthread; i++) {
		const struct stack_thread *t = &s->thread[order_of[i]];

		if (!i || order(&s->thread[order_of[i - 1]], t, by))
			g->v[g->n++] = (struct group){
				.run = t->run, .pid = t->pid, .tid = t->tid, .first = order_of[i]
			};
		join(&g->v[g->n - 1], t, by, time[order_of[i]]);
		g->of[order_of[i]] = (uint32_t)g->n - 1;
	}
	free(order_of);
	free(time);
	return 0;
}

static void groups_fini(struct groups *g)
{
	free(g->v);
	free(g->of);
}

static void add_samples(struct groups *g, const struct stacks *s, const struct stack_filter *f)
{
	for (size_t i = 0; i < s->nsample; i++) {
		const struct stack_sample *one = &s->sample[i];
		struct group *to = &g->v[g->of[one->thread]];

		if (!stacks_pass(s, f, one))
			continue;
		to->samples += one->count;
		to->time += one->time;
		g->time += one->time;
	}
}

static int most_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

enum {
	SHARE,
	SAMPLES,
	PID,
	TID,
	COMM,
	CGROUP,
	COLUMN_N
};

static const struct column columns[COLUMN_N] = {
	[SHARE] = { "share", "time", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[SAMPLES] = { "samples", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	[PID] = { "pid", "pid", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
	[TID] = { "tid", "thread", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
	[COMM] = { "comm", "name", NULL, 16, EMIT_LEFT, EMIT_TEXT },
	[CGROUP] = { "cgroup", "control group", NULL, 0, EMIT_LEFT_TAIL, EMIT_TEXT },
};

static bool has_column(enum by by, int column)
{
	switch (column) {
	case PID:
		return by == BY_PROCESS || by == BY_THREAD;
	case TID:
		return by == BY_THREAD;
	case COMM:
		return by != BY_CGROUP;
	case CGROUP:
		return by != BY_COMM;
	default:
		return true;
	}
}

static const char *const table_name[BY_N] = { "processes", "threads", "comms", "cgroups" };

static void print_rows(struct reading *r, const struct groups *g, unsigned most)
{
	struct column own[COLUMN_N];
	size_t shown = 0, all = 0;
	char count[32];
	int n = 0;

	for (int i = 0; i < COLUMN_N; i++)
		if (has_column(g->by, i))
			own[n++] = columns[i];
	emit_table(&r->emit, table_name[g->by], own, n);
	for (size_t i = 0; i < g->n; i++) {
		const struct group *one = &g->v[i];
		const struct cell cell[COLUMN_N] = {
			[SHARE] = cell_real(g->time > 0 ? one->time / g->time : 0),
			[SAMPLES] = cell_count(one->samples),
			[PID] = cell_count(one->pid),
			[TID] = cell_count(one->tid),
			[COMM] = cell_text(one->comm),
			[CGROUP] = cell_text(*one->cgroup ? one->cgroup : NULL),
		};
		struct cell row[COLUMN_N];
		int k = 0;

		all += one->samples > 0;
		if (!one->samples || (most && shown == most))
			continue;
		for (int c = 0; c < COLUMN_N; c++)
			if (has_column(g->by, c))
				row[k++] = cell[c];
		emit_row(&r->emit, row);
		shown++;
	}
	if (shown < all)
		emit_footer(&r->emit, "%s more: -n 0 shows all",
			    fmt_count(all - shown, count, sizeof(count)));
}

int threads_print(struct reading *r, const struct threads_options *o, struct err *err)
{
	const struct stack_filter filter = { .from = (uint64_t)(o->from * 1e9),
					     .to = (uint64_t)(o->to * 1e9) };
	const struct stacks *s = &r->profile.stacks;
	struct groups g;

	if (!s->nsample) {
		err_set(err, ERR_EMPTY, "%s does not say which threads its samples are of",
			r->path);
		return err_hint(err, STACKS_REMEDY);
	}
	if (make_groups(&g, s, by_of(o->by))) {
		groups_fini(&g);
		return err_no_memory(err, "the report");
	}
	add_samples(&g, s, &filter);
	qsort(g.v, g.n, sizeof(*g.v), most_first);
	reading_heading(r);
	print_rows(r, &g, o->n);
	groups_fini(&g);
	return 0;
}

/* Over time. */

struct load {
	double cell[LOAD_CELLS];
};

/* The end of the last bucket of any sample. */
static uint64_t end_of(const struct stacks *s)
{
	uint64_t end = 0;

	for (size_t i = 0; i < s->nsample; i++)
		if ((s->sample[i].bucket + 1) * s->width > end)
			end = (s->sample[i].bucket + 1) * s->width;
	return end;
}

/* A sample's time is spread over the cells that its bucket covers. */
static void spread(struct load *to, const struct stacks *s, const struct stack_sample *one,
		   uint64_t end)
{
	double cell = (double)end / LOAD_CELLS, from = (double)(one->bucket * s->width) / cell;
	double left = (double)s->width / cell, whole = left;

	while (left > 1e-9) {
		double part = fmin(left, floor(from) + 1 - from);
		size_t i = (size_t)from;

		to->cell[i < LOAD_CELLS ? i : LOAD_CELLS - 1] += one->time * part / whole;
		from = floor(from) + 1;
		left -= part;
	}
}

static const char *level(const struct emit *e, double share)
{
	static const char *const cells[2][9] = {
		{ " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
		{ " ", ".", ":", "-", "=", "+", "*", "%", "#" },
	};
	int i = (int)ceil(fmin(share, 1) * 8 - 1e-9);

	return cells[e->ascii][share > 0 ? (i < 1 ? 1 : i) : 0];
}

static void print_load(struct reading *r, const struct group *g, const struct load *load,
		       double cell_time)
{
	char name[64], bar[LOAD_CELLS * 4 + 1] = "";

	snprintf(name, sizeof(name), "%s %u", g->comm, g->tid);
	for (int i = 0; i < LOAD_CELLS; i++)
		strcat(bar, level(&r->emit, load->cell[i] / cell_time));
	emit_line(&r->emit, "  %-*.*s%s", LOAD_LABEL, LOAD_LABEL - 1, name, bar);
}

static json_t *load_json(const struct group *g, const struct load *load, double cell_time)
{
	json_t *cells = json_array();

	for (int i = 0; i < LOAD_CELLS; i++)
		json_array_append_new(cells, json_real(load->cell[i] / cell_time));
	return json_pack("{s:I,s:I,s:o,s:I,s:o}", "pid", (json_int_t)g->pid, "tid",
			 (json_int_t)g->tid, "comm", emit_text_json(g->comm), "samples",
			 (json_int_t)g->samples, "load", cells);
}

static int print_loads(struct reading *r, struct groups *g)
{
	const struct stacks *s = &r->profile.stacks;
	struct load *load = calloc(g->n + 1, sizeof(*load));
	uint64_t end = end_of(s);
	double cell_time = (double)end / LOAD_CELLS; /* ns, as the samples' time */
	size_t n = g->n < LOAD_THREADS ? g->n : LOAD_THREADS;
	json_t *list;
	char until[32];

	if (!load)
		return -1;
	for (size_t i = 0; i < s->nsample; i++)
		spread(&load[g->of[s->sample[i].thread]], s, &s->sample[i], end);
	for (size_t i = 0; i < g->n; i++)
		g->v[i].first = (uint32_t)i;
	qsort(g->v, g->n, sizeof(*g->v), most_first);
	emit_line(&r->emit, "%s", "");
	emit_line(&r->emit, "load of threads, from 0 to %s, full height is a CPU:",
		  fmt_time((double)end, until, sizeof(until)));
	for (size_t i = 0; i < n; i++)
		print_load(r, &g->v[i], &load[g->v[i].first], cell_time);
	list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, load_json(&g->v[i], &load[g->v[i].first], cell_time));
	emit_set(&r->emit, "threads", list);
	free(load);
	return 0;
}

int threads_load(struct reading *r)
{
	const struct stacks *s = &r->profile.stacks;
	struct groups g;
	int rc;

	/* with several runs, or in cycles, the time of samples is no clock's */
	if (!s->nsample || r->profile.nrun != 1 || r->view.exact || !r->profile.run[0].unit ||
	    strcmp(r->profile.run[0].unit, "ns") != 0)
		return 0;
	rc = make_groups(&g, s, BY_THREAD);
	if (!rc) {
		add_samples(&g, s, NULL);
		rc = print_loads(r, &g);
	}
	groups_fini(&g);
	return rc;
}
