/* SPDX-License-Identifier: MIT */
#include "report/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "report/diff_rows.h"

enum {
	COLUMN_BASE_TEXT,
	COLUMN_NEW_TEXT,
	COLUMN_RATIO_TEXT,
	COLUMN_LIMITS_TEXT,
	COLUMN_IMAGE,
	COLUMN_NAME,
	COLUMN_LINE,
	COLUMN_VERDICT,
	COLUMN_BASE,
	COLUMN_NEW,
	COLUMN_CHANGE,
	COLUMN_RATIO,
	COLUMN_LOW,
	COLUMN_HIGH,
	COLUMN_P,
	COLUMN_BASE_SAMPLES,
	COLUMN_NEW_SAMPLES,
	COLUMN_N
};

static const struct column columns[COLUMN_N] = {
	[COLUMN_BASE_TEXT] = { NULL, "base", "ms", 8, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_NEW_TEXT] = { NULL, "new", "ms", 8, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_RATIO_TEXT] = { NULL, "ratio", NULL, 5, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_LIMITS_TEXT] = { NULL, "within", NULL, 10, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_IMAGE] = { "image", "image", NULL, 13, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_NAME] = { "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
	[COLUMN_LINE] = { NULL, NULL, NULL, 20, EMIT_LEFT_TAIL, EMIT_TEXT },
	[COLUMN_VERDICT] = { "verdict", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_BASE] = { "base", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_NEW] = { "new", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_CHANGE] = { "change", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_RATIO] = { "ratio", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_LOW] = { "ratio_low", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_HIGH] = { "ratio_high", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_P] = { "p", NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_BASE_SAMPLES] = { "base_samples", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	[COLUMN_NEW_SAMPLES] = { "new_samples", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
};

struct diff {
	struct diff_rows rows;
	const struct diff_side *side;
	const struct diff_options *o;
	struct emit *emit;
	struct column column[COLUMN_N];
};

static const char *const verdict_time[DIFF_VERDICTS] = { "slower", "faster", "new", "gone",
							 "same" };
static const char *const verdict_count[DIFF_VERDICTS] = { "more", "fewer", "new", "gone", "same" };
static const char *const by_name[] = { "image", "procedure", "line" };
static const char *const unit_name[] = { "s", "share", "executions" };

static bool is_exact(const struct diff *d)
{
	return d->rows.measure == DIFF_EXECUTIONS;
}

const char *diff_verdict_name(const struct diff_rows *rows, enum diff_verdict v)
{
	return rows->measure == DIFF_EXECUTIONS ? verdict_count[v] : verdict_time[v];
}

const char *diff_unit_name(const struct diff_rows *rows)
{
	return unit_name[rows->measure];
}

/* Names of what can be compared. */

static bool is_whole_command(const struct reading *r)
{
	for (size_t i = 0; i < r->profile.nrun; i++) {
		const struct run *run = &r->profile.run[i];

		if (!run->command || run->command[0] == '-' || !run->finished || !run->n.program_ns)
			return false;
	}
	return r->profile.nrun > 0;
}

static int check_kind(const struct reading *r, const struct reading *first, struct err *err)
{
	if (r->view.exact != first->view.exact) {
		err_set(err, ERR_USAGE, "%s is %s, %s is %s", first->path,
			first->view.exact ? "exact" : "sampled", r->path,
			r->view.exact ? "exact" : "sampled");
		return err_hint(err, "the one counts executions, the other time: compare "
				     "recordings of one kind");
	}
	if (r->view.exact && r->profile.nsampled) {
		err_set(err, ERR_USAGE,
			"%s was recorded under a schedule: its counts are estimates", r->path);
		return err_hint(err, "record with --exact alone: exact counts differ for certain");
	}
	return 0;
}

static int choose_measure(struct diff_rows *rows, const struct diff_side side[2], const char *asked,
			  struct err *err)
{
	const struct reading *first = &side[0].reading[0];
	bool whole = true;

	for (int which = 0; which < 2; which++)
		for (size_t k = 0; k < side[which].n; k++) {
			const struct reading *r = &side[which].reading[k];

			if (check_kind(r, first, err))
				return -1;
			whole &= is_whole_command(r);
			if (asked && !strcmp(asked, "time") && !r->view.counters.program_ns) {
				err_set(err, ERR_USAGE,
					"%s does not say how much CPU time there was", r->path);
				return err_hint(err,
						"--measure share compares shares of the samples");
			}
		}
	if (first->view.exact && asked)
		return err_set(err, ERR_USAGE,
			       "--measure is of sampled recordings: exact ones count executions");
	if (first->view.exact)
		rows->measure = DIFF_EXECUTIONS;
	else if (asked)
		rows->measure = strcmp(asked, "time") ? DIFF_SHARE : DIFF_TIME;
	else
		rows->measure = whole ? DIFF_TIME : DIFF_SHARE;
	return 0;
}

/* Text. */

static void ratio_text(double ratio, char *buf, size_t n)
{
	if (isnan(ratio) || isinf(ratio))
		snprintf(buf, n, "-");
	else
		snprintf(buf, n, ratio < 10 ? "%.2f" : ratio < 1000 ? "%.1f" : "%.0f", ratio);
}

static void limits_text(const struct limits *l, char *buf, size_t n)
{
	char low[24], high[24];

	if (isnan(l->low)) {
		snprintf(buf, n, "%s", "");
		return;
	}
	ratio_text(l->low, low, sizeof(low));
	ratio_text(l->high, high, sizeof(high));
	if (isinf(l->high))
		snprintf(buf, n, "above %s", low);
	else
		snprintf(buf, n, "%s-%s", low, high);
}

static void amount_text(const struct diff *d, double amount, char *buf, size_t n)
{
	switch (d->rows.measure) {
	case DIFF_TIME:
		snprintf(buf, n, "%.1f", amount / 1e6);
		break;
	case DIFF_SHARE:
		fmt_percent(amount, buf, n);
		break;
	case DIFF_EXECUTIONS:
		fmt_count((uint64_t)llround(amount), buf, n);
		break;
	}
}

double diff_amount(const struct diff_rows *rows, double amount)
{
	return rows->measure == DIFF_TIME ? amount / 1e9 : amount;
}

static void side_line(const struct diff *d, int which)
{
	const struct diff_side *side = &d->side[which];
	uint64_t events = 0;
	char command[1024], count[32], more[40] = "";

	for (size_t k = 0; k < side->n; k++)
		events += view_sum_count(&side->reading[k].view, &side->reading[k].view.sum);
	if (side->n > 1)
		snprintf(more, sizeof(more), " and %zu more", side->n - 1);
	emit_line(d->emit, "%s %s%s: %s %s; %s", which ? "new " : "base",
		  text_last_component(side->reading[0].path), more,
		  fmt_count(events, count, sizeof(count)), is_exact(d) ? "instructions" : "samples",
		  reading_command(&side->reading[0], command, sizeof(command)));
}

static json_t *side_json(const struct diff *d, int which)
{
	const struct diff_side *side = &d->side[which];
	json_t *list = json_array();
	char command[1024];

	for (size_t k = 0; k < side->n; k++) {
		const struct reading *r = &side->reading[k];

		json_array_append_new(
			list,
			json_pack("{s:o,s:o,s:i,s:b,s:I}", "recording", emit_text_json(r->path),
				  "command",
				  emit_text_json(reading_command(r, command, sizeof(command))),
				  "runs", (int)r->profile.nrun, "finished",
				  (int)reading_finished(r), is_exact(d) ? "executions" : "samples",
				  (json_int_t)view_sum_count(&r->view, &r->view.sum)));
	}
	return list;
}

static json_t *number_or_null(double v)
{
	return isnan(v) || isinf(v) ? json_null() : json_real(v);
}

static void total_line(const struct diff *d)
{
	const struct diff_rows *rows = &d->rows;
	const char *what = is_exact(d) ? "executed instructions" : "CPU time, ms:";
	char base[32], new[32], ratio[32], limits[60];

	emit_set(d->emit, "total",
		 json_pack("{s:o,s:o,s:o,s:o,s:o}", "base",
			   number_or_null(diff_amount(rows, rows->total[0])), "new",
			   number_or_null(diff_amount(rows, rows->total[1])), "ratio",
			   number_or_null(rows->total[1] / rows->total[0]), "ratio_low",
			   number_or_null(rows->total_ratio.low), "ratio_high",
			   number_or_null(rows->total_ratio.high)));
	if (rows->measure == DIFF_SHARE) {
		emit_line(d->emit, "shares of the samples on either side are compared");
		return;
	}
	amount_text(d, rows->total[0], base, sizeof(base));
	amount_text(d, rows->total[1], new, sizeof(new));
	ratio_text(rows->total[1] / rows->total[0], ratio, sizeof(ratio));
	limits_text(&rows->total_ratio, limits, sizeof(limits));
	emit_line(d->emit, "%s %s -> %s, ratio %s%s%s%s", what, base, new, ratio,
		  *limits ? " (" : "", limits, *limits ? ")" : "");
}

static void print_heading(const struct diff *d)
{
	emit_set(d->emit, "base", side_json(d, 0));
	emit_set(d->emit, "new", side_json(d, 1));
	emit_set(d->emit, "exact", json_boolean(is_exact(d)));
	emit_set(d->emit, "unit", json_string(diff_unit_name(&d->rows)));
	emit_set(d->emit, "between_runs", json_boolean(d->rows.between));
	emit_set(d->emit, "false_discovery_rate", json_real(DIFF_FALSE));
	side_line(d, 0);
	side_line(d, 1);
	total_line(d);
	emit_line(d->emit, "%s", "");
}

static void make_columns(struct diff *d)
{
	struct column *c = d->column;

	memcpy(c, columns, sizeof(columns));
	if (is_exact(d)) {
		c[COLUMN_BASE_TEXT].width = c[COLUMN_NEW_TEXT].width = 13;
		if (!d->rows.between)
			c[COLUMN_LIMITS_TEXT].header = NULL;
		c[COLUMN_BASE_SAMPLES].key = c[COLUMN_NEW_SAMPLES].key = NULL;
	}
	if (d->rows.measure != DIFF_TIME)
		c[COLUMN_BASE_TEXT].unit = c[COLUMN_NEW_TEXT].unit = is_exact(d) ? NULL : "%";
	if (d->rows.by == DIFF_IMAGE) {
		c[COLUMN_IMAGE].width = 0;
		c[COLUMN_NAME].key = c[COLUMN_NAME].header = NULL;
	} else if (d->rows.by == DIFF_LINE) {
		c[COLUMN_IMAGE] =
			(struct column){ "line", "line", NULL, 18, EMIT_LEFT_TAIL, EMIT_TEXT };
		c[COLUMN_LINE] = (struct column){ "image", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT };
	}
}

static void print_row(const struct diff *d, const struct diff_row *row)
{
	double ratio = row->a.mean[1] / row->a.mean[0];
	char base[32], new[32], times[32], limits[60];
	struct cell cell[COLUMN_N] = {
		[COLUMN_BASE_TEXT] = cell_text(base),
		[COLUMN_NEW_TEXT] = cell_text(new),
		[COLUMN_RATIO_TEXT] = cell_text(times),
		[COLUMN_LIMITS_TEXT] = cell_text(limits),
		[COLUMN_IMAGE] = cell_text(d->rows.by == DIFF_LINE ? row->line : row->image),
		[COLUMN_NAME] = cell_text(row->procedure),
		[COLUMN_LINE] = cell_text(row->image),
		[COLUMN_VERDICT] = cell_text(diff_verdict_name(&d->rows, row->a.verdict)),
		[COLUMN_BASE] = cell_real(diff_amount(&d->rows, row->a.mean[0])),
		[COLUMN_NEW] = cell_real(diff_amount(&d->rows, row->a.mean[1])),
		[COLUMN_CHANGE] = cell_real(diff_amount(&d->rows, row->a.mean[1] - row->a.mean[0])),
		[COLUMN_RATIO] = isinf(ratio) ? cell_none() : cell_real(ratio),
		[COLUMN_LOW] = isinf(row->a.ratio.low) ? cell_none() : cell_real(row->a.ratio.low),
		[COLUMN_HIGH] =
			isinf(row->a.ratio.high) ? cell_none() : cell_real(row->a.ratio.high),
		[COLUMN_P] = cell_real(row->a.p),
		[COLUMN_BASE_SAMPLES] = cell_count((uint64_t)row->a.count[0]),
		[COLUMN_NEW_SAMPLES] = cell_count((uint64_t)row->a.count[1]),
	};

	amount_text(d, row->a.mean[0], base, sizeof(base));
	amount_text(d, row->a.mean[1], new, sizeof(new));
	ratio_text(ratio, times, sizeof(times));
	limits_text(&row->a.ratio, limits, sizeof(limits));
	emit_row(d->emit, cell);
}

static void say_more(const struct diff *d, enum diff_verdict v, size_t hidden)
{
	char count[32];

	if (hidden)
		emit_line(d->emit, "%s more %s: -n 0 shows all",
			  fmt_count(hidden, count, sizeof(count)), diff_verdict_name(&d->rows, v));
}

/* Rows without a difference are grey. Those of exact recordings are equal, so only their number is printed. */
static void print_group(const struct diff *d, size_t at, enum diff_verdict v)
{
	size_t n = d->rows.of[v], shown = d->o->n && d->o->n < n ? d->o->n : n;
	bool same = v == DIFF_SAME;

	if (!n || (same && is_exact(d) && !d->rows.between))
		return;
	d->emit->dim = same;
	if (same)
		emit_line(d->emit, "same: chance could have made these differences");
	else
		emit_line(d->emit, "%s", diff_verdict_name(&d->rows, v));
	for (size_t i = at; i < at + shown; i++)
		print_row(d, d->rows.row[i]);
	d->emit->dim = false;
	say_more(d, v, n - shown);
}

static const struct term terms[] = {
	{ "base, new", "CPU time of a run (of several, their mean), or share of the samples" },
	{ "ratio", "new over base" },
	{ "within", "where the ratio lies with 95 % confidence" },
	{ "same", "the difference could be chance: at most 5 % of those listed above are expected "
		  "to be false (Benjamini and Hochberg)" },
	{ 0 },
};

/* Rows with these parts of the base's samples are asked about. */
static const double asked_share[] = { 0.5, 0.1, 0.01 };

/* Says how much slower a row had to become to be listed, which depends on the number of samples. */
static void print_smallest(const struct diff *d)
{
	double samples = 0, ratio[3];
	struct diff_scale scale;
	char text[3][24];

	diff_rows_scale(&d->rows, d->side, &scale);
	for (size_t k = 0; k < d->side[0].n; k++)
		samples += (double)view_sum_count(&d->side[0].reading[k].view,
						  &d->side[0].reading[k].view.sum);
	for (int i = 0; i < 3; i++) {
		ratio[i] = diff_smallest_ratio(&scale, samples * asked_share[i], d->rows.least);
		ratio_text(ratio[i], text[i], sizeof(text[i]));
	}
	emit_set(d->emit, "smallest_ratio",
		 json_pack("{s:o,s:o,s:o}", "half", number_or_null(ratio[0]), "tenth",
			   number_or_null(ratio[1]), "hundredth", number_or_null(ratio[2])));
	emit_footer(
		d->emit,
		"With these samples a %s of half, a tenth, a hundredth of the time is listed as "
		"slower from ratio %s, %s, %s on; four times the samples about halve what these "
		"are "
		"above 1.",
		by_name[d->rows.by], text[0], text[1], text[2]);
}

static void print_footer(const struct diff *d)
{
	const struct diff_rows *rows = &d->rows;
	char count[32];

	emit_line(d->emit, "%s", "");
	if (is_exact(d) && !rows->between)
		emit_footer(d->emit, "%s %ss have the same executions on both sides.",
			    fmt_count(rows->of[DIFF_SAME], count, sizeof(count)),
			    by_name[rows->by]);
	else if (!rows->between)
		emit_footer(d->emit,
			    "One run a side tells nothing of how runs differ among themselves: "
			    "`assay diff A1 A2 A3 vs B1 B2 B3` measures that.");
	if (rows->unmatched)
		emit_footer(d->emit, "Stripped files of different builds are not matched: their "
				     "procedures are new and gone.");
	if (!is_exact(d) && !rows->between)
		print_smallest(d);
	if (!is_exact(d))
		emit_terms(d->emit, terms);
}

static void print_rows(struct diff *d)
{
	char key[32];
	size_t at = 0;

	make_columns(d);
	snprintf(key, sizeof(key), "%ss", by_name[d->rows.by]);
	emit_table(d->emit, key, d->column, COLUMN_N);
	for (int v = 0; v < DIFF_VERDICTS; v++) {
		print_group(d, at, v);
		at += d->rows.of[v];
	}
	snprintf(key, sizeof(key), "%ss_total", by_name[d->rows.by]);
	emit_set(d->emit, key, json_integer((json_int_t)d->rows.n));
	emit_set(d->emit, "same_total", json_integer((json_int_t)d->rows.of[DIFF_SAME]));
	print_footer(d);
}

static enum diff_by by_of(const struct diff_options *o)
{
	return !o->by || !strcmp(o->by, "procedure") ? DIFF_PROCEDURE
	       : !strcmp(o->by, "line")		     ? DIFF_LINE
						     : DIFF_IMAGE;
}

int diff_compare(struct diff_rows *rows, struct diff_side side[2], const struct diff_options *o,
		 struct err *err)
{
	*rows = (struct diff_rows){ .by = by_of(o) };
	if (choose_measure(rows, side, o->measure, err))
		return -1;
	if (diff_rows_collect(rows, side, o->image) || diff_rows_judge(rows, side))
		return err_no_memory(err, "the comparison");
	if (!rows->n)
		return err_set(err, ERR_EMPTY, "no image on either side matches '%s'",
			       o->image ? o->image : "*");
	return 0;
}

int diff_print(struct diff_side side[2], const struct diff_options *o, struct err *err)
{
	struct diff d = { .side = side, .o = o, .emit = &side[0].reading[0].emit };
	int rc = diff_compare(&d.rows, side, o, err);

	if (!rc) {
		print_heading(&d);
		print_rows(&d);
	}
	diff_rows_fini(&d.rows);
	return rc;
}
