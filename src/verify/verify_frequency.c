/* SPDX-License-Identifier: MIT */
/* Tables of estimated frequencies. */
#include <stdio.h>

#include "verify/verify_priv.h"

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

/* Whether "methods" includes the method. Counts of another exact run can also be compared with
 * this one. */
static bool is_shown(const struct verify *v, int method)
{
	if (method == ESTIMATE_COUNTED)
		return verify_again(v) != NULL;
	return v->o->methods || method == ESTIMATE_DCPI || method == ESTIMATE_DEFAULT;
}

static int measure_method(struct verify *v, size_t i, enum estimate_method m, struct err *err)
{
	const struct reading *again = verify_again(v);
	struct counts counts;
	int rc;

	if (again && counts_init(&counts, &v->reading[i], again, v->o->repeat))
		return err_no_memory(err, "the comparison");
	rc = frequency_measure(&v->f[i][m], &v->reading[i], &v->reading[v->last], m,
			       again ? &counts : NULL, v->o->repeat, err);
	if (again)
		counts_fini(&counts);
	return rc;
}

int verify_measure_frequency(struct verify *v, struct err *err)
{
	for (size_t i = 0; i < v->n; i++)
		for (int m = 0; m < ESTIMATE_METHOD_N; m++) {
			if (!is_shown(v, m) || verify_is_exact(&v->reading[i]))
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
		json_object_set_new(
			row, key,
			emit_cell_json(EMIT_SHARE, cell_real(verify_ratio(part[c], whole))));
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
	bool again = verify_again(v) != NULL;
	char name[2];
	const struct cell cell[] = {
		cell_text(estimate_method_name[method]),
		verify_name_cell(v, i, name),
		cell_real(verify_ratio(f->relative[0], f->samples)),
		cell_real(verify_ratio(f->relative[1], f->samples)),
		cell_real(verify_ratio(f->relative[2], f->samples)),
		cell_real(verify_ratio(f->absolute[0], f->samples)),
		cell_real(verify_ratio(f->absolute[1], f->samples)),
		cell_real(verify_ratio(f->absolute[2], f->samples)),
		cell_real(verify_ratio(f->half, f->samples)),
		cell_real(verify_ratio(f->twice, f->samples)),
		cell_real(verify_ratio(f->held, f->samples)),
		cell_real(verify_ratio(f->held_procedure, f->samples)),
		cell_real(exp(verify_ratio(f->width, f->samples))),
		again ? cell_real(verify_ratio(f->anchored[0], f->samples)) : cell_none(),
		again ? cell_real(verify_ratio(f->anchored[1], f->samples)) : cell_none(),
		again ? cell_real(verify_ratio(f->anchored[2], f->samples)) : cell_none(),
		cell_real(verify_ratio(f->procedure[0], f->samples)),
		cell_real(verify_ratio(f->procedure[1], f->samples)),
		cell_real(verify_ratio(f->procedure[2], f->samples)),
		cell_real(verify_ratio(f->off_low, f->off)),
		cell_real(verify_ratio(f->low, f->samples)),
		cell_real(verify_ratio(f->edges10, f->edges)),
		cell_real(verify_ratio(f->estimated, f->samples)),
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

void verify_print_frequency(struct verify *v)
{
	if (!has_frequency(v) && !v->o->json)
		return;
	verify_table(v, "frequency",
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
	cell[0] = cell_real(verify_ratio(part[CONFIDENCE_HIGH], whole));
	cell[1] = cell_real(verify_ratio(part[CONFIDENCE_MEDIUM], whole));
	cell[2] = cell_real(verify_ratio(part[CONFIDENCE_LOW] + part[CONFIDENCE_NONE], whole));
}

static void histogram_rows(struct verify *v, size_t i)
{
	const struct frequency *f = &v->f[i][ESTIMATE_DEFAULT];
	struct cell cell[COUNT_OF(histogram_columns)];
	char text[32], name[2];

	verify_table(v, NULL, "how far estimates are off, by confidence", histogram_columns,
		     COUNT_OF(histogram_columns));
	for (int b = 0; b < FREQUENCY_BUCKETS; b++) {
		cell[0] = cell_text(bucket_text(b, text, sizeof(text)));
		cell[1] = verify_name_cell(v, i, name);
		confidence_cells(&cell[2], f->histogram[b], f->samples);
		confidence_cells(&cell[5], f->edge_histogram[b], f->edges);
		emit_row(v->emit, cell);
	}
	verify_table(v, NULL, "how far CPI is off, at the estimated scale", histogram_columns,
		     HISTOGRAM_SAMPLES);
	for (int b = 0; b < FREQUENCY_BUCKETS; b++) {
		cell[0] = cell_text(bucket_text(b, text, sizeof(text)));
		confidence_cells(&cell[2], f->cpi_histogram[b], f->samples);
		emit_row(v->emit, cell);
	}
}

void verify_print_histograms(struct verify *v)
{
	if (!v->o->histogram || v->o->json || !has_frequency(v))
		return;
	for (size_t i = 0; i < v->n; i++)
		histogram_rows(v, i);
}
