/* SPDX-License-Identifier: MIT */
#include "verify/verify_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "report/operands.h"

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

/* The first run; a hand-made recording may have none. */
static const struct run *first_run(const struct reading *r)
{
	static const struct run none;

	return r->profile.nrun ? &r->profile.run[0] : &none;
}

/* Opening recordings. */

/* Whether every instruction was observed. */
bool verify_is_exact(const struct reading *r)
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
	return v->last > 1 && verify_is_exact(&v->reading[v->last - 1]) &&
	       !verify_is_exact(&v->reading[0]);
}

const struct reading *verify_again(const struct verify *v)
{
	return v->n < v->last ? &v->reading[v->n] : NULL;
}

static int check_order(const struct verify *v, struct err *err)
{
	const struct reading *last = &v->reading[v->last];
	const char *source = first_run(last)->source;

	if (verify_is_exact(last))
		return 0;
	for (size_t i = 0; i < v->n; i++)
		if (verify_is_exact(&v->reading[i])) {
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
		return err_no_memory(err, "the comparison");
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
	return v->n > 1 || v->o->json || verify_is_exact(&v->reading[i]) ? buf : "sampled";
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
	if (verify_is_exact(r))
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
void verify_table(struct verify *v, const char *key, const char *title, const struct column *c,
		  int n)
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

struct cell verify_name_cell(const struct verify *v, size_t i, char *buf)
{
	return cell_text(name_of(v, i, buf));
}

static void print_coverage(struct verify *v)
{
	char name[2];

	verify_table(v, "coverage",
		     "coverage: sites that ran, those that windows saw, what ran there",
		     coverage_columns, COUNT_OF(coverage_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_coverage *c = &v->a[i].coverage;
		const struct cell cell[] = {
			verify_name_cell(v, i, name),
			cell_count(c->sites),
			cell_real(verify_ratio((double)c->seen, (double)c->sites)),
			cell_real(verify_ratio(c->seen_ran, c->ran)),
			cell_real(verify_ratio(c->enough_ran, c->ran)),
			cell_real(c->common),
			cell_real(verify_ratio(c->strays_observed, c->observed)),
			cell_count(c->strays),
			cell_count((uint64_t)c->ran),
			cell_real(verify_ratio(c->elsewhere, c->elsewhere + c->ran)),
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
		verify_name_cell(v, i, name),
		cell_real(verify_ratio(a->executions.compared, a->executions.ran)),
		cell_real(a->error.rms),
		cell_real(a->raw.rms),
		cell_real(a->error.chance),
		cell_real(a->error.beyond),
		cell_count(a->hot),
		cell_real(verify_ratio((double)a->found, (double)a->hot)),
		cell_count(a->bounds),
		cell_real(verify_ratio((double)a->held, (double)a->bounds)),
		cell_real(verify_ratio((double)a->low_held, (double)a->bounds)),
		cell_real(verify_ratio(a->found_ran, a->hot_ran)),
		cell_count(a->operands),
		cell_count(a->pairs),
		cell_count((uint64_t)a->executions.ran),
	};

	emit_row(v->emit, cell);
}

static void print_values(struct verify *v)
{
	verify_table(v, "values", "values: how far their shares are off", values_columns,
		     COUNT_OF(values_columns));
	for (int kind = 0; kind < ACCURACY_KIND_N; kind++)
		for (size_t i = 0; i < v->n; i++)
			if (v->a[i].values[kind].executions.ran > 0 || kind == ACCURACY_ALL)
				values_row(v, i, kind);
}

static void print_directions(struct verify *v)
{
	char name[2];

	verify_table(v, "directions", "directions: how far the share taken of branches is off",
		     directions_columns, COUNT_OF(directions_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_directions *d = &v->a[i].directions;
		double compared = d->executions.compared;
		const struct cell cell[] = {
			cell_text("taken"),
			verify_name_cell(v, i, name),
			cell_real(verify_ratio(compared, d->executions.ran)),
			cell_real(d->error.rms),
			cell_real(d->raw.rms),
			cell_real(d->error.chance),
			cell_real(d->error.beyond),
			cell_real(verify_ratio(d->within[0], compared)),
			cell_real(verify_ratio(d->within[1], compared)),
			cell_real(verify_ratio(d->within[2], compared)),
			cell_real(verify_ratio((double)d->held, (double)d->bounds)),
			cell_real(verify_ratio(d->common, compared)),
			cell_real(verify_ratio(d->close, compared)),
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
		verify_name_cell(v, i, name),
		cell_real(verify_ratio(d->error.weight, d->error.weight + compared)),
		cell_real(d->error.rms),
		cell_real(d->between.rms),
		cell_real(d->error.chance),
		cell_count(d->pairs),
	};

	emit_row(v->emit, cell);
}

static void print_differ(struct verify *v)
{
	if (!verify_again(v))
		return;
	verify_table(v, "differ", "of the run: what the exact recordings differ on, left out above",
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
	verify_table(v, "targets",
		     "targets of indirect jumps and calls: the distributions' overlap",
		     targets_columns, COUNT_OF(targets_columns));
	for (size_t i = 0; i < v->n; i++) {
		const struct accuracy_targets *t = &v->a[i].targets;
		const struct cell cell[] = {
			cell_text("targets"),
			verify_name_cell(v, i, name),
			cell_real(verify_ratio(t->executions.compared, t->executions.ran)),
			cell_real(verify_ratio(t->common, t->executions.compared)),
			cell_count(t->sites),
			cell_count((uint64_t)t->executions.ran),
		};

		emit_row(v->emit, cell);
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
			    fmt_percent(verify_ratio(l->addresses_ran, with_values(v->a)), share,
					sizeof(share)));
	for (size_t i = 0; i < v->n; i++) {
		l = &v->a[i].left_out;
		if (!l->hot_addresses)
			continue;
		agree &= 2 * l->agree >= l->hot_addresses;
		emit_footer(v->emit, "%s: %s %% of %s hot addresses are the same in both runs.",
			    name_of(v, i, name),
			    fmt_percent(verify_ratio((double)l->agree, (double)l->hot_addresses),
					share, sizeof(share)),
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
		emit_footer(v->emit,
			    "%s argument%s (%s %% of executions with values) left out: jumps enter "
			    "the procedure, too, and the exact recording has those of calls alone.",
			    fmt_count(l->jumped, n, sizeof(n)), plural(l->jumped),
			    fmt_percent(verify_ratio(l->jumped_ran, with_values(v->a)), share,
					sizeof(share)));
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
			    fmt_percent(verify_ratio(l->uncertain_ran, with_values(&v->a[i])),
					share, sizeof(share)));
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
			json_pack("{s:s,s:I,s:o,s:I,s:I,s:o,s:I,s:o}", "name", name_of(v, i, name),
				  "address_operands", (json_int_t)l->addresses, "addresses",
				  emit_cell_json(EMIT_SHARE,
						 cell_real(verify_ratio(l->addresses_ran, ran))),
				  "hot_addresses", (json_int_t)l->hot_addresses,
				  "hot_addresses_found", (json_int_t)l->agree, "uncertain",
				  emit_cell_json(EMIT_SHARE,
						 cell_real(verify_ratio(l->uncertain_ran, ran))),
				  "jumped_operands", (json_int_t)l->jumped, "jumped",
				  emit_cell_json(EMIT_SHARE,
						 cell_real(verify_ratio(l->jumped_ran, ran)))));
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
	double elsewhere = verify_ratio(c->elsewhere, c->elsewhere + c->ran);
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
	emit_footer(
		v->emit,
		"Compared are sites observed %u times or more%s; for hot values and bounds, those "
		"observed %u times or more.",
		o->min, o->common && v->n > 1 ? " in each recording" : "", o->min_hot);
	emit_terms(v->emit, terms);
	if (verify_again(v))
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
	verify_print_frequency(v);
	verify_print_histograms(v);
	verify_print_worst(v, true);
	verify_print_worst(v, false);
	print_footer(v);
}

int verify_print(const struct verify_options *o, struct err *err)
{
	struct verify v = { .o = o, .n = o->n - 1, .last = o->n - 1 };
	bool measured = false;
	int rc = open_all(&v, err);

	if (!rc) {
		warn_of_doubts(&v);
		rc = accuracy_measure(v.a, v.reading, v.n, &v.reading[v.last], verify_again(&v),
				      &o->measure, err);
		measured = !rc;
		if (!rc)
			rc = verify_measure_frequency(&v, err);
	}
	if (measured) {
		if (!rc)
			print_all(&v);
		for (size_t i = 0; i < v.n; i++)
			accuracy_fini(&v.a[i]);
	}
	for (size_t i = 0; i < v.open; i++)
		reading_close(&v.reading[i], measured ? err : NULL);
	free(v.reading);
	free(v.f);
	free(v.a);
	return err->code ? -1 : rc;
}
