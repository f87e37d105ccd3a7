/* SPDX-License-Identifier: MIT */
#include "report/wset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "report/wset_sums.h"

#define MARGIN 12     /* columns of the picture for numbers of lines */
#define WIDTH_MAX 200 /* most columns of the picture */
#define REGIONS_SHOWN 10
#define STACK_MARGIN 10

struct history {
	struct reading *r;
	const struct wset_options *o;
	const struct wset *w;
	struct wset_sums sums;
};

/* Sorts by lines, most first. */
static int by_lines(const void *a, const void *b)
{
	const struct wset_region_sum *x = a, *y = b;

	if (x->lines != y->lines)
		return x->lines < y->lines ? 1 : -1;
	return (x->region > y->region) - (x->region < y->region);
}

static uint64_t all_lines(const struct wset *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->nsnapshot; i++)
		n += w->snapshot[i].lines;
	return n;
}

static const struct wset *choose(const struct reading *r, const struct wset_options *o,
				 struct err *err)
{
	const struct wset *best = NULL;

	for (size_t i = 0; i < r->profile.nwset; i++) {
		const struct wset *w = r->profile.wset[i];

		if ((!o->process || w->pid == o->process) && w->nsnapshot &&
		    (!best || all_lines(w) > all_lines(best)))
			best = w;
	}
	if (best)
		return best;
	if (o->process) {
		err_set(err, ERR_EMPTY, "%s holds no working set of a process %u", r->path,
			o->process);
		err_hint(err, "without --process, the one that touched most is shown; --json "
			      "lists all");
		return NULL;
	}
	err_set(err, ERR_EMPTY, "%s holds no working sets", r->path);
	err_hint(err, "`assay record --exact --observe lines -- CMD` records them");
	return NULL;
}

/* Position on the time axis, in the unit of intervals. */
static double at(const struct wset *w, const struct wset_snapshot *s)
{
	return w->unit == WSET_CPU_NS	 ? (double)s->cpu_ns
	       : w->unit == WSET_WALL_NS ? (double)s->wall_ns
					 : (double)s->end;
}

static char *axis_text(const struct wset *w, double v, char *buf, size_t n)
{
	if (w->unit == WSET_CPU_NS || w->unit == WSET_WALL_NS)
		return fmt_time(v, buf, n);
	return fmt_count((uint64_t)v, buf, n);
}

static uint64_t value_of(const struct history *h, size_t i)
{
	const struct wset_snapshot *s = &h->w->snapshot[i];

	return h->o->code ? s->code_lines : s->lines;
}

/* Column of a position, which a damaged recording may put outside. */
static int column_at(double part, int width)
{
	return (int)(fmin(fmax(part, 0), 1) * width);
}

/* Finds, for each column of a picture, the largest value among the intervals that the column
 * covers. */
static void spread(const struct history *h, const uint64_t *of, uint64_t *value, int width)
{
	const struct wset *w = h->w;
	double end = at(w, &w->snapshot[w->nsnapshot - 1]), from = 0;

	memset(value, 0, (size_t)width * sizeof(*value));
	for (size_t i = 0; i < w->nsnapshot; i++) {
		double to = at(w, &w->snapshot[i]);
		int a = end > 0 ? column_at(from / end, width) : 0;
		int b = end > 0 ? column_at(to / end - 1e-12, width) : width - 1;

		for (int k = a; k <= b && k < width; k++)
			if (of[i] > value[k])
				value[k] = of[i];
		from = to;
	}
}

#define MAP_MARGIN 21 /* columns for addresses and kinds */

/* Draws the time axis under a picture. */
static void draw_axis(struct history *h, const char *what, int margin, int width)
{
	char end[32], line[1024];

	axis_text(h->w, at(h->w, &h->w->snapshot[h->w->nsnapshot - 1]), end, sizeof(end));
	snprintf(line, sizeof(line), "%*s 0%*s %s", margin, what,
		 width - 1 - (int)strlen(wset_unit_name[h->w->unit]), end,
		 wset_unit_name[h->w->unit]);
	emit_line(&h->r->emit, "%s", line);
	emit_line(&h->r->emit, "%s", "");
}

static void draw_band(struct history *h, const struct wset_map *m, size_t b, int width)
{
	static const char *const shades[2][5] = { { " ", "░", "▒", "▓", "█" },
						  { " ", ".", ":", "+", "#" } };
	const char *const *shade = shades[h->r->emit.ascii];
	const struct wset_band *band = &m->band[b];
	uint64_t value[WIDTH_MAX] = { 0 };
	char line[1024];
	size_t n;

	spread(h, &m->lines[b * m->ninterval], value, width);
	n = (size_t)snprintf(line, sizeof(line), "%12lx %-7s|",
			     (unsigned long)(band->start * WSET_CHUNK * h->w->line),
			     wset_kind_name[h->w->region[band->region].kind]);
	for (int i = 0; i < width; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s",
				      shade[(value[i] * 4 + m->most - 1) / m->most]);
	emit_line(&h->r->emit, "%s", line);
}

static int picture_width(const struct history *h, int margin)
{
	int width = h->r->emit.width - margin - 3;

	return width < 10 ? 10 : width > WIDTH_MAX ? WIDTH_MAX : width;
}

static void draw_map(struct history *h, const struct wset_map *m)
{
	int width = picture_width(h, MAP_MARGIN);
	char most[32], line[128];

	for (size_t b = m->nband; b-- > 0;)
		draw_band(h, m, b, width);
	snprintf(line, sizeof(line), "%s: %s lines", h->r->emit.ascii ? "#" : "█",
		 fmt_count(m->most, most, sizeof(most)));
	draw_axis(h, h->o->code ? "code" : "address", MAP_MARGIN - 1, width);
	emit_line(&h->r->emit, "%s", line);
	emit_line(&h->r->emit, "%s", "");
}

static json_t *list_of(const uint64_t *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_integer((json_int_t)v[i]));
	return a;
}

static void print_map(struct history *h, const struct wset_map *m)
{
	static const struct column column[] = {
		{ "address", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "end", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "kind", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
		{ "name", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
		{ "lines", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	};
	uint64_t chunk = (uint64_t)WSET_CHUNK * h->w->line;

	emit_table(&h->r->emit, "map", column, 5);
	for (size_t b = 0; b < m->nband; b++) {
		const struct wset_region *g = &h->w->region[m->band[b].region];

		emit_row(&h->r->emit,
			 (struct cell[5]){
				 cell_count(m->band[b].start * chunk),
				 cell_count(m->band[b].end * chunk),
				 cell_text(wset_kind_name[g->kind]),
				 cell_text(g->name),
				 cell_json(list_of(&m->lines[b * m->ninterval], m->ninterval)),
			 });
	}
}

static int draw(struct history *h, struct err *err)
{
	static const char *const eighths[2][9] = {
		{ " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
		{ " ", "_", "_", ".", "-", "=", "+", "*", "#" },
	};
	const char *const *eighth = eighths[h->r->emit.ascii];
	int width = picture_width(h, MARGIN), height = (int)h->o->height;
	uint64_t value[WIDTH_MAX] = { 0 }, *of = calloc(h->w->nsnapshot, sizeof(*of)), most = 1;
	char line[1024], number[32];

	if (!of)
		return err_no_memory(err, "the working set");
	for (size_t i = 0; i < h->w->nsnapshot; i++)
		of[i] = value_of(h, i);
	spread(h, of, value, width);
	for (int i = 0; i < width; i++)
		if (value[i] > most)
			most = value[i];
	for (int row = height; row-- > 0;) {
		size_t n =
			(size_t)snprintf(line, sizeof(line), "%*s |", MARGIN,
					 row == height - 1 ? fmt_count(most, number, sizeof(number))
					 : row == 0	   ? "0"
							   : "");

		for (int i = 0; i < width; i++) {
			double full = (double)value[i] / (double)most * height * 8 - row * 8;
			int part = full >= 8 ? 8 : full <= 0 ? 0 : (int)full;

			if (!part && value[i] && !row)
				part = 1;
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s", eighth[part]);
		}
		emit_line(&h->r->emit, "%s", line);
	}
	draw_axis(h, h->o->code ? "lines, code" : "lines", MARGIN, width);
	free(of);
	return 0;
}

static const char *innermost(const struct wset_snapshot *s, char *buf, size_t n)
{
	size_t len = strcspn(s->stack, ";");

	snprintf(buf, n, "%.*s", (int)(len < n ? len : n - 1), s->stack);
	return view_cut_parameters(image_demangle(buf, buf + n / 2, n / 2));
}

/* Prints the call stack at the end of the interval, innermost procedure first. */
static void print_stack(struct history *h, const struct wset_snapshot *s)
{
	char name[512], buf[512];
	const char *at = s->stack + strcspn(s->stack, ";");

	while (*at == ';') {
		size_t len = strcspn(++at, ";");

		snprintf(name, sizeof(name), "%.*s",
			 (int)(len < sizeof(name) ? len : sizeof(name) - 1), at);
		emit_line(&h->r->emit, "%*s%s", STACK_MARGIN, "",
			  view_cut_parameters(image_demangle(name, buf, sizeof(buf))));
		at += len;
	}
}

static json_t *kinds(const struct wset_change *v)
{
	json_t *o = json_object();

	for (int i = 0; i < WSET_KIND_N; i++)
		if (v->kind[i])
			json_object_set_new(o, wset_kind_name[i],
					    json_integer((json_int_t)v->kind[i]));
	return o;
}

/* Whether text shows the column: columns of shared lines only if some are shared. */
static bool is_shown(const struct history *h, const struct column *c)
{
	return h->r->emit.json || (c->header && (h->sums.shared || strcmp(c->key, "shared") != 0));
}

static void not_shown(struct history *h, size_t hidden, size_t of, const char *what,
		      const char *how)
{
	char a[32], b[32];

	emit_footer(&h->r->emit, "%s of %s %s are not shown: %s", fmt_count(hidden, a, sizeof(a)),
		    fmt_count(of, b, sizeof(b)), what, how);
}

static void print_intervals(struct history *h)
{
	static const struct column text[] = {
		{ "interval", "interval", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
		{ "start", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "end", "ends at", NULL, 14, EMIT_RIGHT, EMIT_COUNT },
		{ "cpu_ns", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "wall_ns", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "lines", "lines", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
		{ "bytes", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "new", "new", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
		{ "reused", "reused", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
		{ "gone", "gone", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
		{ "shared", "shared", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
		{ "first", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "code_lines", "code", NULL, 6, EMIT_RIGHT, EMIT_COUNT },
		{ "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
		{ "stack", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
		{ "kinds", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	};
	enum {
		COLUMNS = sizeof(text) / sizeof(text[0])
	};
	const struct wset *w = h->w;
	struct column shown[COLUMNS];
	bool json = h->r->emit.json;
	size_t step = 1, left_out = 0;
	int n = 0;

	for (int i = 0; i < COLUMNS; i++)
		if (is_shown(h, &text[i]))
			shown[n++] = text[i];
	if (!json && h->o->rows && w->nsnapshot > h->o->rows)
		step = (w->nsnapshot + h->o->rows - 1) / h->o->rows;
	emit_table(&h->r->emit, "intervals", shown, n);
	for (size_t i = 0; i < w->nsnapshot; i++) {
		const struct wset_snapshot *s = &w->snapshot[i];
		char name[1024];

		if (i % step && i + 1 != w->nsnapshot) {
			left_out++;
			continue;
		}
		const struct cell cell[COLUMNS] = {
			cell_count(i),
			cell_count(s->start),
			cell_count(s->end),
			cell_count(s->cpu_ns),
			cell_count(s->wall_ns),
			cell_count(s->lines),
			cell_count(s->lines * w->line),
			cell_count(s->lines - h->sums.interval[i].reused),
			cell_count(h->sums.interval[i].reused),
			cell_count(h->sums.interval[i].gone),
			cell_count(h->sums.interval[i].shared),
			cell_count(s->first),
			cell_count(s->code_lines),
			cell_text(innermost(s, name, sizeof(name))),
			cell_text(s->stack),
			cell_json(json ? kinds(&h->sums.interval[i]) : NULL),
		};
		struct cell row[COLUMNS];
		int k = 0;

		for (int c = 0; c < COLUMNS; c++)
			if (is_shown(h, &text[c]))
				row[k++] = cell[c];
		emit_row(&h->r->emit, row);
		if (!json && h->o->stacks)
			print_stack(h, s);
	}
	if (left_out)
		not_shown(h, left_out, w->nsnapshot, "intervals", "-n 0 shows all");
}

static void print_regions(struct history *h)
{
	static const struct column column[] = {
		{ "kind", "region", NULL, 8, EMIT_LEFT, EMIT_TEXT },
		{ "lines", "lines", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
		{ "most", "at most", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
		{ "share", "share", "%", 5, EMIT_RIGHT, EMIT_SHARE },
		{ "shared", "shared", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
		{ "name", "name", NULL, 0, EMIT_LEFT_TAIL, EMIT_TEXT },
	};
	enum {
		COLUMNS = sizeof(column) / sizeof(column[0])
	};
	bool json = h->r->emit.json;
	struct column used[COLUMNS];
	size_t all = 0;
	int n = 0;

	qsort(h->sums.region, h->w->nregion, sizeof(*h->sums.region), by_lines);
	if (!json)
		emit_line(&h->r->emit, "%s", "");
	for (int i = 0; i < COLUMNS; i++)
		if (is_shown(h, &column[i]))
			used[n++] = column[i];
	emit_table(&h->r->emit, "regions", used, n);
	for (; all < h->w->nregion && h->sums.region[all].lines; all++) {
		const struct wset_region_sum *s = &h->sums.region[all];
		const struct wset_region *g = &h->w->region[s->region];
		const struct cell cell[COLUMNS] = {
			cell_text(wset_kind_name[g->kind]),
			cell_count(s->lines),
			cell_count(s->most),
			cell_real((double)s->lines / (double)(h->sums.total ? h->sums.total : 1)),
			cell_count(s->shared),
			cell_text(g->name),
		};
		struct cell row[COLUMNS];

		n = 0;
		for (int c = 0; c < COLUMNS; c++)
			if (is_shown(h, &column[c]))
				row[n++] = cell[c];
		if (json || all < REGIONS_SHOWN)
			emit_row(&h->r->emit, row);
	}
	if (!json && all > REGIONS_SHOWN)
		not_shown(h, all - REGIONS_SHOWN, all, "regions", "--json has all");
}

static int by_first(const void *a, const void *b)
{
	const struct wset_first *x = a, *y = b;

	if (x->lines != y->lines)
		return x->lines < y->lines ? 1 : -1;
	return strcmp(x->procedure, y->procedure);
}

static int print_procedures(struct history *h, struct err *err)
{
	static const struct column column[] = {
		{ "lines", "first to touch", NULL, 14, EMIT_RIGHT, EMIT_COUNT },
		{ "share", "share", "%", 5, EMIT_RIGHT, EMIT_SHARE },
		{ "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
	};
	const struct wset *w = h->w;
	struct wset_first *list = malloc((w->nfirst + 1) * sizeof(*list));
	bool json = h->r->emit.json;
	uint64_t sum = 0;
	char buf[1024];

	if (!list)
		return err_no_memory(err, "the working set");
	for (size_t i = 0; i < w->nfirst; i++) {
		list[i] = w->first[i];
		sum += list[i].lines;
	}
	qsort(list, w->nfirst, sizeof(*list), by_first);
	if (!json && w->nfirst)
		emit_line(&h->r->emit, "%s", "");
	if (json || w->nfirst)
		emit_table(&h->r->emit, "procedures", column, 3);
	for (size_t i = 0; i < w->nfirst && (json || i < REGIONS_SHOWN); i++)
		emit_row(&h->r->emit,
			 (struct cell[3]){
				 cell_count(list[i].lines),
				 cell_real((double)list[i].lines / (double)(sum ? sum : 1)),
				 cell_text(view_cut_parameters(
					 image_demangle(list[i].procedure, buf, sizeof(buf)))) });
	if (!json && w->nfirst > REGIONS_SHOWN)
		not_shown(h, w->nfirst - REGIONS_SHOWN, w->nfirst, "procedures", "--json has all");
	free(list);
	return 0;
}

static void print_processes(struct history *h)
{
	static const struct column column[] = {
		{ "pid", "pid", NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "parent", "parent", NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "command", "command", NULL, 0, EMIT_LEFT, EMIT_TEXT },
		{ "intervals", "intervals", NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "largest", "largest", NULL, 0, EMIT_RIGHT, EMIT_COUNT },
	};
	const struct profile *p = &h->r->profile;

	if (!h->r->emit.json) {
		if (p->nwset > 1)
			emit_footer(&h->r->emit,
				    "%zu more process%s recorded: --process PID shows another, "
				    "--json lists them",
				    p->nwset - 1, p->nwset == 2 ? " was" : "es were");
		return;
	}
	emit_table(&h->r->emit, "processes", column, 5);
	for (size_t i = 0; i < p->nwset; i++) {
		const struct wset *w = p->wset[i];
		uint64_t most = 0;

		for (size_t k = 0; k < w->nsnapshot; k++)
			if (w->snapshot[k].lines > most)
				most = w->snapshot[k].lines;
		emit_row(&h->r->emit,
			 (struct cell[5]){ cell_count(w->pid), cell_count(w->parent),
					   cell_text(w->command), cell_count(w->nsnapshot),
					   cell_count(most) });
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int print_summary(struct history *h, struct err *err)
{
	const struct wset *w = h->w;
	uint64_t *v = calloc(w->nsnapshot, sizeof(*v)), most, median;
	char a[32], b[32];

	if (!v)
		return err_no_memory(err, "the working set");
	for (size_t i = 0; i < w->nsnapshot; i++)
		v[i] = w->snapshot[i].lines;
	qsort(v, w->nsnapshot, sizeof(*v), by_value);
	most = v[w->nsnapshot - 1];
	median = v[w->nsnapshot / 2];
	free(v);
	emit_set(&h->r->emit, "pid", json_integer(w->pid));
	emit_set(&h->r->emit, "command", emit_text_json(w->command ? w->command : ""));
	emit_set(&h->r->emit, "line", json_integer(w->line));
	emit_set(&h->r->emit, "unit", json_string(wset_unit_name[w->unit]));
	emit_set(&h->r->emit, "interval", json_integer((json_int_t)w->interval));
	emit_set(&h->r->emit, "lines_total", json_integer((json_int_t)h->sums.total));
	emit_set(&h->r->emit, "code_lines_total", json_integer((json_int_t)h->sums.code_total));
	emit_set(&h->r->emit, "shared_total", json_integer((json_int_t)h->sums.shared));
	emit_set(&h->r->emit, "largest", json_integer((json_int_t)most));
	emit_set(&h->r->emit, "median", json_integer((json_int_t)median));
	emit_line(&h->r->emit, "%s (process %u): %zu interval%s, lines of %u bytes",
		  w->command && w->command[0] ? w->command : "?", w->pid, w->nsnapshot,
		  plural(w->nsnapshot), w->line);
	emit_line(&h->r->emit, "working set: %s at most, median %s",
		  fmt_size(most * w->line, a, sizeof(a)), fmt_size(median * w->line, b, sizeof(b)));
	emit_line(&h->r->emit, "touched in all: %s, and %s of code",
		  fmt_size(h->sums.total * w->line, a, sizeof(a)),
		  fmt_size(h->sums.code_total * w->line, b, sizeof(b)));
	if (h->sums.shared)
		emit_line(&h->r->emit, "%s of what was touched is shared between threads",
			  fmt_size(h->sums.shared * w->line, a, sizeof(a)));
	emit_line(&h->r->emit, "%s", "");
	return 0;
}

static int make_svg(const struct history *h, struct err *err)
{
	const struct wset *w = h->w;
	struct wset_bar *bar = calloc(w->nsnapshot, sizeof(*bar));
	char title[256];
	double from = 0;
	int rc;

	if (!bar)
		return err_no_memory(err, "the working set");
	for (size_t i = 0; i < w->nsnapshot; i++) {
		double to = at(w, &w->snapshot[i]);

		bar[i] = (struct wset_bar){ from, to, value_of(h, i),
					    h->o->code ? 0 : h->sums.interval[i].shared,
					    w->snapshot[i].stack };
		from = to;
	}
	snprintf(title, sizeof(title), "%s: lines of %u bytes touched in each interval",
		 w->command ? w->command : "", w->line);
	rc = wset_svg(h->o->svg, bar, w->nsnapshot, title, wset_unit_name[w->unit], err);
	free(bar);
	return rc;
}

static int make_map_svg(const struct history *h, const struct wset_map *m, struct err *err)
{
	double *to = calloc(m->ninterval + 1, sizeof(*to));
	char title[256];
	int rc;

	if (!to)
		return err_no_memory(err, "the working set");
	for (size_t i = 0; i < m->ninterval; i++)
		to[i] = at(h->w, &h->w->snapshot[i]);
	snprintf(title, sizeof(title), "%s: where lines were touched",
		 h->w->command ? h->w->command : "");
	rc = wset_map_svg(h->o->svg, m, h->w, to, title, err);
	free(to);
	return rc;
}

int wset_print(struct reading *r, const struct wset_options *o, struct err *err)
{
	struct history h = { .r = r, .o = o, .w = choose(r, o, err) };
	struct wset_map map = { 0 };
	int rc;

	if (!h.w)
		return -1;
	rc = wset_sums(&h.sums, h.w, err);
	if (!rc && o->map)
		rc = wset_map_make(&map, h.w, o->code, o->height, err);
	if (!rc && o->svg)
		rc = o->map ? make_map_svg(&h, &map, err) : make_svg(&h, err);
	if (!rc) {
		reading_heading(r);
		rc = print_summary(&h, err);
	}
	if (!rc) {
		if (r->emit.json && o->map)
			print_map(&h, &map);
		else if (o->map)
			draw_map(&h, &map);
		else if (!r->emit.json)
			rc = draw(&h, err);
	}
	if (!rc) {
		print_intervals(&h);
		print_regions(&h);
		rc = print_procedures(&h, err);
	}
	if (!rc)
		print_processes(&h);
	wset_map_fini(&map);
	wset_sums_fini(&h.sums);
	return rc;
}
