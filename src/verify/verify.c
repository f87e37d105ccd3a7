/* SPDX-License-Identifier: MIT */
#include "verify/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "verify/frequency.h"
#include "report/operands.h"

struct verify {
	const struct verify_options *o;
	struct reading *reading; /* o->n recordings that are open */
	size_t open, n;		 /* n: the number of sampled ones */
	size_t last;		 /* index of the exact recording */
	struct accuracy *a;	 /* n elements */
	struct frequency (*f)[ESTIMATE_METHOD_N];
	struct emit *emit; /* output of the exact recording's reading */
};

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* The first column of each table: the recording. It has no header if there is only one. */
#define COLUMN_NAME \
	{ \
		"name", "", NULL, 1, EMIT_LEFT, EMIT_TEXT \
	}
#define PERCENT(key, header, width) \
	{ \
		key, header, "%", width, EMIT_RIGHT, EMIT_SHARE \
	}
#define POINTS(key, header) \
	{ \
		key, header, "pt", 7, EMIT_RIGHT, EMIT_SHARE \
	}
#define HIDDEN(key, kind) \
	{ \
		key, NULL, NULL, 0, EMIT_LEFT, kind \
	}

static const struct column coverage_columns[] = {
	COLUMN_NAME,
	{ "sites", "sites", NULL, 9, EMIT_RIGHT, EMIT_COUNT },
	PERCENT("sites_seen", "seen", 8),
	PERCENT("seen", "executions", 0),
	PERCENT("enough", "well seen", 11),
	PERCENT("overlap", "overlap", 10),
	PERCENT("strays", "misplaced", 11),
	HIDDEN("stray_sites", EMIT_COUNT),
	HIDDEN("executions", EMIT_COUNT),
	HIDDEN("elsewhere", EMIT_SHARE),
};

static const struct column values_columns[] = {
	{ "kind", "values", NULL, 8, EMIT_LEFT, EMIT_TEXT },
	COLUMN_NAME,
	PERCENT("compared", "ran", 5),
	POINTS("rms", "RMS"),
	{ "raw_rms", "raw", "pt", 6, EMIT_RIGHT, EMIT_SHARE },
	POINTS("chance", "chance"),
	POINTS("beyond", "beyond"),
	{ "hot", "hot", NULL, 6, EMIT_RIGHT, EMIT_COUNT },
	PERCENT("found", "found", 7),
	HIDDEN("bounds", EMIT_COUNT),
	PERCENT("held", "in bounds", 0),
	HIDDEN("low_held", EMIT_SHARE),
	HIDDEN("found_executions", EMIT_SHARE),
	HIDDEN("operands", EMIT_COUNT),
	HIDDEN("pairs", EMIT_COUNT),
	HIDDEN("executions", EMIT_COUNT),
};

static const struct column directions_columns[] = {
	{ NULL, "branches", NULL, 8, EMIT_LEFT, EMIT_TEXT },
	COLUMN_NAME,
	PERCENT("compared", "ran", 6),
	POINTS("rms", "RMS"),
	{ "raw_rms", "raw", "pt", 6, EMIT_RIGHT, EMIT_SHARE },
	POINTS("chance", "chance"),
	POINTS("beyond", "beyond"),
	PERCENT("within5", "<=5", 6),
	PERCENT("within10", "<=10", 6),
	HIDDEN("within15", EMIT_SHARE),
	PERCENT("held", "in bounds", 0),
	HIDDEN("overlap", EMIT_SHARE),
	HIDDEN("edges10", EMIT_SHARE),
	HIDDEN("bounds", EMIT_COUNT),
	HIDDEN("sites", EMIT_COUNT),
	HIDDEN("executions", EMIT_COUNT),
};

static const struct column targets_columns[] = {
	{ NULL, "indirect", NULL, 8, EMIT_LEFT, EMIT_TEXT },
	COLUMN_NAME,
	PERCENT("compared", "ran", 6),
	PERCENT("overlap", "overlap", 8),
	{ "sites", "sites", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
	HIDDEN("executions", EMIT_COUNT),
};

static const struct column differ_columns[] = {
	{ "what", "of the run", NULL, 10, EMIT_LEFT, EMIT_TEXT },
	COLUMN_NAME,
	PERCENT("weight", "weight", 8),
	POINTS("rms", "RMS"),
	{ "between", "runs", "pt", 7, EMIT_RIGHT, EMIT_SHARE },
	POINTS("chance", "chance"),
	{ "pairs", "pairs", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
};

static const struct column frequency_columns[] = {
	{ "method", "frequency", NULL, 9, EMIT_LEFT, EMIT_TEXT },
	COLUMN_NAME,
	PERCENT("within5", "<=5", 6),
	PERCENT("within10", "<=10", 6),
	PERCENT("within15", "<=15", 6),
	HIDDEN("absolute5", EMIT_SHARE),
	PERCENT("absolute10", "abs<=10", 0),
	HIDDEN("absolute15", EMIT_SHARE),
	HIDDEN("factor1_5", EMIT_SHARE),
	HIDDEN("factor2", EMIT_SHARE),
	HIDDEN("held", EMIT_SHARE),
	HIDDEN("held_procedure", EMIT_SHARE),
	HIDDEN("interval", EMIT_REAL),
	HIDDEN("anchored5", EMIT_SHARE),
	HIDDEN("anchored10", EMIT_SHARE),
	HIDDEN("anchored15", EMIT_SHARE),
	HIDDEN("procedure5", EMIT_SHARE),
	HIDDEN("procedure10", EMIT_SHARE),
	HIDDEN("procedure15", EMIT_SHARE),
	PERCENT("off_low", "marked", 0),
	PERCENT("low", "low", 6),
	PERCENT("edges10", "edges<=10", 0),
	HIDDEN("estimated", EMIT_SHARE),
	HIDDEN("factor", EMIT_REAL),
	HIDDEN("samples", EMIT_COUNT),
	HIDDEN("edge_executions", EMIT_COUNT),
	HIDDEN("histogram", EMIT_JSON),
};

#define HISTOGRAM_SAMPLES 5 /* number of columns before those of edges */
static const struct column histogram_columns[] = {
	{ NULL, "off by", NULL, 12, EMIT_LEFT, EMIT_TEXT },
	COLUMN_NAME,
	{ NULL, "samples: high", "%", 0, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "medium", "%", 0, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "low", "%", 6, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "edges: high", "%", 0, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "medium", "%", 0, EMIT_RIGHT, EMIT_SHARE },
	{ NULL, "low", "%", 6, EMIT_RIGHT, EMIT_SHARE },
};

static const struct column worst_columns[] = {
	COLUMN_NAME,
	PERCENT("error_share", "part", 7),
	PERCENT("share", "sampled", 0),
	PERCENT("bound", "+-", 5),
	PERCENT("raw", "raw", 6),
	PERCENT("exact", "exact", 7),
	{ "times_seen", "seen", "x", 7, EMIT_RIGHT, EMIT_REAL },
	{ NULL, "what", NULL, 16, EMIT_LEFT, EMIT_TEXT },
	{ NULL, "where", NULL, 0, EMIT_LEFT, EMIT_TEXT },
	HIDDEN("chance", EMIT_SHARE),
	HIDDEN("observations", EMIT_COUNT),
	HIDDEN("executions", EMIT_COUNT),
	HIDDEN("operand", EMIT_TEXT),
	HIDDEN("value", EMIT_HEX),
	HIDDEN("image", EMIT_TEXT),
	HIDDEN("procedure", EMIT_TEXT),
	HIDDEN("address", EMIT_ADDR),
};
enum {
	WORST_WHERE = 8
};

static double ratio(double part, double of)
{
	return of > 0 ? part / of : NAN;
}

/* The first run; a hand-made recording may have none. */
static const struct run *first_run(const struct reading *r)
{
	static const struct run none;

	return r->profile.nrun ? &r->profile.run[0] : &none;
}

/* Opening recordings. */

/* Whether every instruction was observed. */
static bool is_exact(const struct reading *r)
{
	if (r->profile.nsampled)
		return false;
	for (size_t i = 0; i < r->profile.nrun; i++)
		if (!r->profile.run[i].source || strcmp(r->profile.run[i].source, "exact") != 0)
			return false;
	return r->profile.nrun > 0;
}

/* Whether the last but one is another exact run: it is exact and the first is not. */
static bool has_again(const struct verify *v)
{
	return v->last > 1 && is_exact(&v->reading[v->last - 1]) && !is_exact(&v->reading[0]);
}

static const struct reading *again_of(const struct verify *v)
{
	return v->n < v->last ? &v->reading[v->n] : NULL;
}

static int check_order(const struct verify *v, struct err *err)
{
	const struct reading *last = &v->reading[v->last];
	const char *source = first_run(last)->source;

	if (is_exact(last))
		return 0;
	for (size_t i = 0; i < v->n; i++)
		if (is_exact(&v->reading[i])) {
			err_set(err, ERR_USAGE,
				"the exact recording comes last: %s is exact, %s is not",
				v->reading[i].path, last->path);
			return err_hint(err, "assay verify %s %s", last->path, v->reading[i].path);
		}
	err_set(err, ERR_FAILED, "%s is not exact: it was recorded by '%s'", last->path,
		source ? source : "?");
	return err_hint(err,
			"`assay record --exact -o exact.db -- CMD` makes an exact recording of "
			"the same run");
}

static int open_all(struct verify *v, struct err *err)
{
	const struct verify_options *o = v->o;

	v->reading = calloc(o->n, sizeof(*v->reading));
	v->a = calloc(o->n, sizeof(*v->a));
	v->f = calloc(o->n, sizeof(*v->f));
	if (!v->reading || !v->a || !v->f)
		return err_set(err, ERR_FAILED, "no memory");
	for (; v->open < o->n; v->open++) {
		const struct reading_options in = { .verb = "verify",
						    .input = o->path[v->open],
						    .json = o->json && v->open == v->last,
						    .wide = o->wide,
						    .explain = o->explain,
						    /* the exact recording names procedures */
						    .warn = v->open == v->last ? o->warn : NULL };

		if (!reading_open(&v->reading[v->open], &in, err))
			continue;
		if (access(in.input, F_OK))
			err_hint(err, "assay verify SAMPLED... EXACT takes recordings: `assay "
				      "record` and `assay record --exact` make them");
		return -1;
	}
	v->emit = &v->reading[v->last].emit;
	if (check_order(v, err))
		return -1;
	v->n = v->last - has_again(v);
	return 0;
}

static const char *command_of(const struct reading *r)
{
	const char *command = first_run(r)->command;

	return command ? command : "?";
}

/* Warns of signs that the runs differ. */
static void warn_of_doubts(const struct verify *v)
{
	const struct reading *e = &v->reading[v->last];

	for (size_t i = 0; i < v->open && v->o->warn; i++) {
		const struct reading *r = &v->reading[i];

		if (strcmp(command_of(r), command_of(e)) != 0)
			v->o->warn("the commands differ: %s is of `%s`, %s of `%s`", r->path,
				   command_of(r), e->path, command_of(e));
		if (!reading_finished(r))
			v->o->warn("%s is unfinished: it is compared as far as it goes", r->path);
	}
}

/* Heading. */

static const char *name_of(const struct verify *v, size_t i, char *buf)
{
	buf[0] = (char)('A' + i);
	buf[1] = 0;
	if (i >= v->n)
		return i == v->last ? "exact" : "exact2";
	return v->n > 1 || v->o->json || is_exact(&v->reading[i]) ? buf : "sampled";
}

static const char *sketch_of(const struct run *run)
{
	return run->sketch >= 0 && run->sketch < HOT_METHOD_N ? hot_method_name[run->sketch] : "?";
}

static json_t *recording_json(const struct verify *v, size_t i)
{
	const struct reading *r = &v->reading[i];
	const struct run *run = first_run(r);
	const struct run_counters *n = &r->view.counters;
	char name[2], command[1024];

	reading_command(r, command, sizeof(command));
	return json_pack("{s:s,s:o,s:o,s:o,s:o,s:f,s:i,s:s,s:i,s:i,s:b,s:I,s:I}", "name",
			 name_of(v, i, name), "file", emit_text_json(r->path), "command",
			 emit_text_json(command), "source", emit_text_json(run->source), "event",
			 emit_text_json(run->event), "rate", run->rate, "burst", (int)run->burst,
			 "sketch", sketch_of(run), "sketch_capacity", (int)run->sketch_capacity,
			 "runs", (int)r->profile.nrun, "finished", (int)reading_finished(r),
			 "samples", (json_int_t)n->samples, "windows", (json_int_t)n->windows);
}

static void recording_text(const struct verify *v, size_t i)
{
	const struct reading *r = &v->reading[i];
	const struct run *run = first_run(r);
	char name[2], command[1024], windows[32];

	reading_command(r, command, sizeof(command));
	emit_line(v->emit, "%-8s %s: %s", name_of(v, i, name), r->path, command);
	if (is_exact(r))
		emit_line(v->emit, "%-8s every instruction, %s of %u", "", sketch_of(run),
			  run->sketch_capacity);
	else
		emit_line(v->emit, "%-8s %s at %g Hz, %u ahead, %s windows, %s of %u", "",
			  run->event ? run->event : "?", run->rate, run->burst,
			  fmt_count(r->view.counters.windows, windows, sizeof(windows)),
			  sketch_of(run), run->sketch_capacity);
}

static void print_heading(struct verify *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i <= v->last; i++) {
		if (v->o->json)
			json_array_append_new(list, recording_json(v, i));
		else
			recording_text(v, i);
	}
	emit_set(v->emit, "recordings", list);
	emit_set(v->emit, "min", json_integer(v->o->measure.min));
	emit_set(v->emit, "min_hot", json_integer(v->o->measure.min_hot));
	emit_set(v->emit, "confidence", json_real(0.95));
}

/* Tables. */

/* Begins a table whose columns stay in `own` until the next one. */
static void begin_table(struct verify *v, const char *key, const char *title,
			const struct column *c, int n)
{
	static struct column own[EMIT_COLUMNS];

	memcpy(own, c, (size_t)n * sizeof(*c));
	for (int i = 0; i < n && v->n == 1; i++)
		if (c[i].key && !strcmp(c[i].key, "name"))
			own[i].header = NULL;
	emit_line(v->emit, "%s", "");
	emit_line(v->emit, "%s", title);
	emit_table(v->emit, key, own, n);
}

static struct cell name_cell(const struct verify *v, size_t i, char *buf)
{
	return cell_text(name_of(v, i, buf));
}

static void print_coverage(struct verify *v)
{
	char name[2];

	begin_table(v, "coverage",
		    "coverage: sites that ran, those that windows saw, what ran there",
		    coverage_columns, COUNT_OF(coverage_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_coverage *c = &v->a[i].coverage;
		const struct cell cell[] = {
			name_cell(v, i, name),
			cell_count(c->sites),
			cell_real(ratio((double)c->seen, (double)c->sites)),
			cell_real(ratio(c->seen_ran, c->ran)),
			cell_real(ratio(c->enough_ran, c->ran)),
			cell_real(c->common),
			cell_real(ratio(c->strays_observed, c->observed)),
			cell_count(c->strays),
			cell_count((uint64_t)c->ran),
			cell_real(ratio(c->elsewhere, c->elsewhere + c->ran)),
		};

		emit_row(v->emit, cell);
	}
}

static void values_row(struct verify *v, size_t i, int kind)
{
	const struct accuracy_values *a = &v->a[i].values[kind];
	char name[2];
	const struct cell cell[] = {
		cell_text(accuracy_kind_name[kind]),
		name_cell(v, i, name),
		cell_real(ratio(a->executions.compared, a->executions.ran)),
		cell_real(a->error.rms),
		cell_real(a->raw.rms),
		cell_real(a->error.chance),
		cell_real(a->error.beyond),
		cell_count(a->hot),
		cell_real(ratio((double)a->found, (double)a->hot)),
		cell_count(a->bounds),
		cell_real(ratio((double)a->held, (double)a->bounds)),
		cell_real(ratio((double)a->low_held, (double)a->bounds)),
		cell_real(ratio(a->found_ran, a->hot_ran)),
		cell_count(a->operands),
		cell_count(a->pairs),
		cell_count((uint64_t)a->executions.ran),
	};

	emit_row(v->emit, cell);
}

static void print_values(struct verify *v)
{
	begin_table(v, "values", "values: how far their shares are off", values_columns,
		    COUNT_OF(values_columns));
	for (int kind = 0; kind < ACCURACY_KIND_N; kind++)
		for (size_t i = 0; i < v->n; i++)
			if (v->a[i].values[kind].executions.ran > 0 || kind == ACCURACY_ALL)
				values_row(v, i, kind);
}

static void print_directions(struct verify *v)
{
	char name[2];

	begin_table(v, "directions", "directions: how far the share taken of branches is off",
		    directions_columns, COUNT_OF(directions_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_directions *d = &v->a[i].directions;
		double compared = d->executions.compared;
		const struct cell cell[] = {
			cell_text("taken"),
			name_cell(v, i, name),
			cell_real(ratio(compared, d->executions.ran)),
			cell_real(d->error.rms),
			cell_real(d->raw.rms),
			cell_real(d->error.chance),
			cell_real(d->error.beyond),
			cell_real(ratio(d->within[0], compared)),
			cell_real(ratio(d->within[1], compared)),
			cell_real(ratio(d->within[2], compared)),
			cell_real(ratio((double)d->held, (double)d->bounds)),
			cell_real(ratio(d->common, compared)),
			cell_real(ratio(d->close, compared)),
			cell_count(d->bounds),
			cell_count(d->sites),
			cell_count((uint64_t)d->executions.ran),
		};

		emit_row(v->emit, cell);
	}
}

static void differ_row(struct verify *v, size_t i, const char *what,
		       const struct accuracy_differ *d, double compared)
{
	char name[2];
	const struct cell cell[] = {
		cell_text(what),
		name_cell(v, i, name),
		cell_real(ratio(d->error.weight, d->error.weight + compared)),
		cell_real(d->error.rms),
		cell_real(d->between.rms),
		cell_real(d->error.chance),
		cell_count(d->pairs),
	};

	emit_row(v->emit, cell);
}

static void print_differ(struct verify *v)
{
	if (!again_of(v))
		return;
	begin_table(v, "differ", "of the run: what the exact recordings differ on, left out above",
		    differ_columns, COUNT_OF(differ_columns));
	for (size_t i = 0; i < v->n; i++)
		differ_row(v, i, "values", &v->a[i].differ_values,
			   v->a[i].values[ACCURACY_ALL].error.weight);
	for (size_t i = 0; i < v->n; i++)
		differ_row(v, i, "directions", &v->a[i].differ_directions,
			   v->a[i].directions.error.weight);
}

static bool has_targets(const struct verify *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->a[i].targets.executions.ran > 0)
			return true;
	return false;
}

static void print_targets(struct verify *v)
{
	char name[2];

	if (!has_targets(v) && !v->o->json)
		return;
	begin_table(v, "targets", "targets of indirect jumps and calls: the distributions' overlap",
		    targets_columns, COUNT_OF(targets_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_targets *t = &v->a[i].targets;
		const struct cell cell[] = {
			cell_text("targets"),
			name_cell(v, i, name),
			cell_real(ratio(t->executions.compared, t->executions.ran)),
			cell_real(ratio(t->common, t->executions.compared)),
			cell_count(t->sites),
			cell_count((uint64_t)t->executions.ran),
		};

		emit_row(v->emit, cell);
	}
}

/* Frequencies. */

/* Whether "methods" includes the method. Counts of another exact run can also be compared with
 * this one. */
static bool is_shown(const struct verify *v, int method)
{
	if (method == ESTIMATE_COUNTED)
		return again_of(v) != NULL;
	return v->o->methods || method == ESTIMATE_DCPI || method == ESTIMATE_DEFAULT;
}

static int measure_method(struct verify *v, size_t i, enum estimate_method m, struct err *err)
{
	const struct reading *again = again_of(v);
	struct counts counts;
	int rc;

	if (again && counts_init(&counts, &v->reading[i], again, v->o->repeat))
		return err_set(err, ERR_FAILED, "no memory to compare");
	rc = frequency_measure(&v->f[i][m], &v->reading[i], &v->reading[v->last], m,
			       again ? &counts : NULL, v->o->repeat, err);
	if (again)
		counts_fini(&counts);
	return rc;
}

static int measure_frequency(struct verify *v, struct err *err)
{
	for (size_t i = 0; i < v->n; i++)
		for (int m = 0; m < ESTIMATE_METHOD_N; m++) {
			if (!is_shown(v, m) || is_exact(&v->reading[i]))
				continue;
			if (measure_method(v, i, (enum estimate_method)m, err))
				return -1;
			if (v->f[i][m].warning[0] && v->o->warn)
				v->o->warn("%s", v->f[i][m].warning);
		}
	return 0;
}

static void parts_json(json_t *row, const char *prefix, const double part[CONFIDENCE_N],
		       double whole)
{
	for (int c = 0; c < CONFIDENCE_N; c++) {
		char key[32];

		snprintf(key, sizeof(key), "%s%s", prefix, confidence_name[c]);
		json_object_set_new(row, key,
				    emit_cell_json(EMIT_SHARE, cell_real(ratio(part[c], whole))));
	}
}

static json_t *histogram_json(const struct frequency *f)
{
	json_t *list = json_array();

	for (int b = 0; b < FREQUENCY_BUCKETS; b++) {
		json_t *row = json_object();

		json_object_set_new(row, "from",
				    json_real(FREQUENCY_BUCKET_FROM + b * FREQUENCY_BUCKET));
		parts_json(row, "", f->histogram[b], f->samples);
		parts_json(row, "edges_", f->edge_histogram[b], f->edges);
		parts_json(row, "cpi_", f->cpi_histogram[b], f->samples);
		json_array_append_new(list, row);
	}
	return list;
}

static void frequency_row(struct verify *v, size_t i, int method)
{
	const struct frequency *f = &v->f[i][method];
	bool again = again_of(v) != NULL;
	char name[2];
	const struct cell cell[] = {
		cell_text(estimate_method_name[method]),
		name_cell(v, i, name),
		cell_real(ratio(f->relative[0], f->samples)),
		cell_real(ratio(f->relative[1], f->samples)),
		cell_real(ratio(f->relative[2], f->samples)),
		cell_real(ratio(f->absolute[0], f->samples)),
		cell_real(ratio(f->absolute[1], f->samples)),
		cell_real(ratio(f->absolute[2], f->samples)),
		cell_real(ratio(f->half, f->samples)),
		cell_real(ratio(f->twice, f->samples)),
		cell_real(ratio(f->held, f->samples)),
		cell_real(ratio(f->held_procedure, f->samples)),
		cell_real(exp(ratio(f->width, f->samples))),
		again ? cell_real(ratio(f->anchored[0], f->samples)) : cell_none(),
		again ? cell_real(ratio(f->anchored[1], f->samples)) : cell_none(),
		again ? cell_real(ratio(f->anchored[2], f->samples)) : cell_none(),
		cell_real(ratio(f->procedure[0], f->samples)),
		cell_real(ratio(f->procedure[1], f->samples)),
		cell_real(ratio(f->procedure[2], f->samples)),
		cell_real(ratio(f->off_low, f->off)),
		cell_real(ratio(f->low, f->samples)),
		cell_real(ratio(f->edges10, f->edges)),
		cell_real(ratio(f->estimated, f->samples)),
		cell_real(f->factor),
		cell_count((uint64_t)f->samples),
		cell_count((uint64_t)f->edges),
		v->o->json ? cell_json(histogram_json(f)) : cell_none(),
	};

	emit_row(v->emit, cell);
}

static bool has_frequency(const struct verify *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->f[i][ESTIMATE_DEFAULT].estimated > 0)
			return true;
	return false;
}

static void print_frequency(struct verify *v)
{
	if (!has_frequency(v) && !v->o->json)
		return;
	begin_table(v, "frequency",
		    "frequency: samples whose instruction's estimate is within 5, 10, 15 %",
		    frequency_columns, COUNT_OF(frequency_columns));
	for (int m = 0; m < ESTIMATE_METHOD_N; m++)
		for (size_t i = 0; i < v->n; i++)
			if (is_shown(v, m) && v->f[i][m].estimated > 0)
				frequency_row(v, i, m);
}

static char *bucket_text(int b, char *buf, size_t n)
{
	double from = 100 * (FREQUENCY_BUCKET_FROM + b * FREQUENCY_BUCKET);
	double to = from + 100 * FREQUENCY_BUCKET;

	if (b == 0)
		snprintf(buf, n, "below %.0f %%", to);
	else if (b == FREQUENCY_BUCKETS - 1)
		snprintf(buf, n, "above %.0f %%", from);
	else
		snprintf(buf, n, "%.0f to %.0f %%", from, to);
	return buf;
}

/* Three cells: of high, of medium, and of low or no confidence. */
static void confidence_cells(struct cell *cell, const double part[CONFIDENCE_N], double whole)
{
	cell[0] = cell_real(ratio(part[CONFIDENCE_HIGH], whole));
	cell[1] = cell_real(ratio(part[CONFIDENCE_MEDIUM], whole));
	cell[2] = cell_real(ratio(part[CONFIDENCE_LOW] + part[CONFIDENCE_NONE], whole));
}

static void histogram_rows(struct verify *v, size_t i)
{
	const struct frequency *f = &v->f[i][ESTIMATE_DEFAULT];
	struct cell cell[COUNT_OF(histogram_columns)];
	char text[32], name[2];

	begin_table(v, NULL, "how far estimates are off, by confidence", histogram_columns,
		    COUNT_OF(histogram_columns));
	for (int b = 0; b < FREQUENCY_BUCKETS; b++) {
		cell[0] = cell_text(bucket_text(b, text, sizeof(text)));
		cell[1] = name_cell(v, i, name);
		confidence_cells(&cell[2], f->histogram[b], f->samples);
		confidence_cells(&cell[5], f->edge_histogram[b], f->edges);
		emit_row(v->emit, cell);
	}
	begin_table(v, NULL, "how far CPI is off, at the estimated scale", histogram_columns,
		    HISTOGRAM_SAMPLES);
	for (int b = 0; b < FREQUENCY_BUCKETS; b++) {
		cell[0] = cell_text(bucket_text(b, text, sizeof(text)));
		confidence_cells(&cell[2], f->cpi_histogram[b], f->samples);
		emit_row(v->emit, cell);
	}
}

static void print_histograms(struct verify *v)
{
	if (!v->o->histogram || v->o->json || !has_frequency(v))
		return;
	for (size_t i = 0; i < v->n; i++)
		histogram_rows(v, i);
}

/* Writes "name+0x1c", cutting a name that is too long. */
static char *where_text(const struct view_proc *p, const char *name, uint64_t addr, int width,
			char *buf, size_t n)
{
	char offset[32];
	int room;

	snprintf(offset, sizeof(offset), p->n ? "+0x%" PRIx64 : " 0x%" PRIx64, addr - p->start);
	if (p->n && addr == p->start)
		offset[0] = 0;
	room = width - (int)strlen(offset);
	if ((int)strlen(name) > room && room > 4)
		snprintf(buf, n, "%.*s..%s", room - 2, name, offset);
	else
		snprintf(buf, n, "%s%s", name, offset);
	return buf;
}

static void worst_row(struct verify *v, size_t i, const struct accuracy_site *s, double square)
{
	const struct view *e = &v->reading[v->last].view;
	const struct view_proc *p = &e->proc[e->proc_of[s->at]];
	const struct site *site = e->site[s->at];
	char name[2], what[80] = "taken", hex[32], proc[1024], where[1100];
	bool value = s->operand >= 0;

	if (value)
		snprintf(what, sizeof(what), "%s=%s", operands_label(NULL, s->operand),
			 fmt_hex(s->value, hex, sizeof(hex)));
	view_proc_name(p, proc, sizeof(proc));
	if (!v->o->json)
		where_text(p, view_cut_parameters(proc), site->id.addr,
			   emit_column_width(v->emit, WORST_WHERE), where, sizeof(where));
	const struct cell cell[] = {
		name_cell(v, i, name),
		cell_real(ratio(s->square, square)),
		cell_real(s->sampled.value),
		cell_real(s->sampled.bound),
		cell_real(s->sampled.raw),
		cell_real(s->exact),
		cell_real(s->seen),
		cell_text(what),
		cell_text(v->o->json ? NULL : where),
		cell_real(s->chance),
		cell_count(s->observations),
		cell_count((uint64_t)s->executions),
		cell_text(value ? operand_name[s->operand] : NULL),
		value ? cell_count(s->value) : cell_none(),
		cell_text(e->image[site->id.image].name),
		cell_text(proc),
		cell_count(site->id.addr),
	};

	emit_row(v->emit, cell);
}

static const struct accuracy_sites *worst_of(const struct accuracy *a, bool values)
{
	return values ? &a->worst_values : &a->worst_directions;
}

/* Number of sites with any error. */
static size_t worst_shown(const struct verify *v, size_t i, bool values)
{
	const struct accuracy_sites *list = worst_of(&v->a[i], values);
	size_t n = 0;

	while (n < list->n && n < v->o->worst && list->v[n].square > 0)
		n++;
	return n;
}

static void print_worst(struct verify *v, bool values)
{
	size_t all = 0;

	for (size_t i = 0; i < v->n; i++)
		all += worst_shown(v, i, values);
	if (!v->o->json && !all)
		return;
	begin_table(v, values ? "worst_values" : "worst_directions",
		    values ? "where the error of values comes from"
			   : "where the error of directions comes from",
		    worst_columns, COUNT_OF(worst_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy *a = &v->a[i];
		double square =
			values ? a->values[ACCURACY_ALL].error.square : a->directions.error.square;

		for (size_t k = 0, n = worst_shown(v, i, values); k < n; k++)
			worst_row(v, i, &worst_of(a, values)->v[k], square);
	}
}

/* Remarks on what was left out, and on columns. */

static double with_values(const struct accuracy *a)
{
	return a->values[ACCURACY_ALL].executions.ran + a->left_out.addresses_ran +
	       a->left_out.jumped_ran;
}

/* Prints remarks that are the same for all recordings, except for the number found. */
static void print_addresses(struct verify *v)
{
	const struct accuracy_left_out *l = &v->a[0].left_out;
	char n[32], share[16], name[2];
	bool agree = true;

	if (l->addresses)
		emit_footer(v->emit,
			    "%s operand%s (%s %% of executions with values) left out: hot values "
			    "are run-time addresses or stack canaries. --all compares them.",
			    fmt_count(l->addresses, n, sizeof(n)), plural(l->addresses),
			    fmt_percent(ratio(l->addresses_ran, with_values(v->a)), share,
					sizeof(share)));
	for (size_t i = 0; i < v->n; i++) {
		l = &v->a[i].left_out;
		if (!l->hot_addresses)
			continue;
		agree &= 2 * l->agree >= l->hot_addresses;
		emit_footer(v->emit, "%s: %s %% of %s hot addresses are the same in both runs.",
			    name_of(v, i, name),
			    fmt_percent(ratio((double)l->agree, (double)l->hot_addresses), share,
					sizeof(share)),
			    fmt_count(l->hot_addresses, n, sizeof(n)));
	}
	if (!agree)
		emit_footer(v->emit, "Recorded under `setarch -R`, most would be.");
}

static void print_jumped(struct verify *v)
{
	const struct accuracy_left_out *l = &v->a[0].left_out;
	char n[32], share[16];

	if (l->jumped)
		emit_footer(
			v->emit,
			"%s argument%s (%s %% of executions with values) left out: jumps enter "
			"the procedure, too, and the exact recording has those of calls alone.",
			fmt_count(l->jumped, n, sizeof(n)), plural(l->jumped),
			fmt_percent(ratio(l->jumped_ran, with_values(v->a)), share, sizeof(share)));
}

static void print_uncertain(struct verify *v, size_t i)
{
	const struct accuracy_left_out *l = &v->a[i].left_out;
	char share[16], name[2];

	if (l->uncertain_ran > 0)
		emit_footer(v->emit,
			    "%s: values of %s %% of executions not compared: the exact recording "
			    "has only bounds for them.",
			    name_of(v, i, name),
			    fmt_percent(ratio(l->uncertain_ran, with_values(&v->a[i])), share,
					sizeof(share)));
}

static void left_out_json(struct verify *v)
{
	json_t *list = json_array();
	char name[2];

	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_left_out *l = &v->a[i].left_out;
		double ran = with_values(&v->a[i]);

		json_array_append_new(
			list,
			json_pack(
				"{s:s,s:I,s:o,s:I,s:I,s:o,s:I,s:o}", "name", name_of(v, i, name),
				"address_operands", (json_int_t)l->addresses, "addresses",
				emit_cell_json(EMIT_SHARE, cell_real(ratio(l->addresses_ran, ran))),
				"hot_addresses", (json_int_t)l->hot_addresses,
				"hot_addresses_found", (json_int_t)l->agree, "uncertain",
				emit_cell_json(EMIT_SHARE, cell_real(ratio(l->uncertain_ran, ran))),
				"jumped_operands", (json_int_t)l->jumped, "jumped",
				emit_cell_json(EMIT_SHARE, cell_real(ratio(l->jumped_ran, ran)))));
	}
	emit_set(v->emit, "left_out", list);
}

static const struct term terms[] = {
	{ "seen", "sites that windows saw; executions: of all, those there" },
	{ "well seen", "executions at sites that were observed often enough (--min)" },
	{ "overlap", "of the spread of executions and of observations over sites" },
	{ "misplaced", "observations where nothing ran" },
	{ "ran", "executions of what was observed often enough (--min)" },
	{ "RMS", "points of share that the reading is off, weighted by executions; "
		 "RMS^2 = chance^2 + beyond^2" },
	{ "raw", "the same without the weights of windows" },
	{ "chance", "what as many independent observations would be off" },
	{ "beyond", "what is not chance: windows begin where time is spent, observations of one "
		    "window go together, lists of hot values are short" },
	{ "<=5", "within 5 points" },
	{ "hot", "values that 5 % or more of a site's executions have; found: in the sampled "
		 "list" },
	{ "in bounds", "true shares that lie within the bounds reported; 95 % should" },
	{ "frequency", "of executions, relative to the scale that suits best; abs: as estimated" },
	{ "low", "samples whose estimate is marked as of low confidence; marked: of those that "
		 "are off by more than 15 %" },
	{ "edges<=10", "executions of edges whose estimate is within 10 %" },
	{ "part", "of the squared error" },
	{ "seen x", "a site's share of observations over that of executions" },
	{ 0 },
};

static const struct term again_terms[] = {
	{ "of the run", "values and branches whose shares surely differ by more than 1 point "
			"between the exact recordings" },
	{ "weight", "of all that is compared" },
	{ "runs", "RMS difference of the exact recordings" },
	{ 0 },
};

static void print_footer(struct verify *v)
{
	const struct accuracy_options *o = &v->o->measure;
	const struct accuracy_coverage *c = &v->a[0].coverage;
	double elsewhere = ratio(c->elsewhere, c->elsewhere + c->ran);
	bool compared = false;
	char share[16];

	for (size_t i = 0; i < v->n; i++)
		compared |= v->a[i].worst_values.n || v->a[i].worst_directions.n;
	if (v->o->json) {
		left_out_json(v);
		return;
	}
	emit_line(v->emit, "%s", "");
	print_addresses(v);
	print_jumped(v);
	for (size_t i = 0; i < v->n; i++)
		print_uncertain(v, i);
	if (elsewhere > 0)
		emit_footer(v->emit,
			    "%s %% of executions left out: in code that no ELF file holds (JIT, "
			    "vdso).",
			    fmt_percent(elsewhere, share, sizeof(share)));
	if (!compared)
		emit_footer(v->emit,
			    "Nothing was observed %u times: record for longer, or lower --min.",
			    o->min);
	emit_footer(v->emit,
		    "Sites observed %u times or more%s, hot values and bounds of those observed %u "
		    "times or more.",
		    o->min, o->common && v->n > 1 ? " in each recording" : "", o->min_hot);
	emit_terms(v->emit, terms);
	if (again_of(v))
		emit_terms(v->emit, again_terms);
}

static void print_all(struct verify *v)
{
	print_heading(v);
	print_coverage(v);
	print_values(v);
	print_directions(v);
	print_targets(v);
	print_differ(v);
	print_frequency(v);
	print_histograms(v);
	print_worst(v, true);
	print_worst(v, false);
	print_footer(v);
}

int verify_print(const struct verify_options *o, struct err *err)
{
	struct verify v = { .o = o, .n = o->n - 1, .last = o->n - 1 };
	bool measured = false;
	int rc = open_all(&v, err);

	if (!rc) {
		warn_of_doubts(&v);
		rc = accuracy_measure(v.a, v.reading, v.n, &v.reading[v.last], again_of(&v),
				      &o->measure, err);
		measured = !rc;
		if (!rc)
			rc = measure_frequency(&v, err);
	}
	if (measured) {
		if (!rc)
			print_all(&v);
		for (size_t i = 0; i < v.n; i++)
			accuracy_fini(&v.a[i]);
	}
	for (size_t i = 0; i < v.open; i++)
		reading_close(&v.reading[i], measured && !rc);
	free(v.reading);
	free(v.f);
	free(v.a);
	return rc;
}
