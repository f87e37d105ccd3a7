/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include <math.h>

#include "base/fmt.h"
#include "base/text.h"
#include "html/diff_graph.h"

#define ROWS_SHOWN 2000

struct page {
	const struct diff_side *side;
	const struct diff_options *o;
	FILE *out;
	struct diff_rows rows;
	struct diff_graph graph;
};

static json_t *real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Builds the name of a side, such as "before.db and 2 more: gzip -9". */
static json_t *side_text(const struct diff_side *side)
{
	char command[1024], more[40] = "", text[1400];

	if (side->n > 1)
		snprintf(more, sizeof(more), " and %zu more", side->n - 1);
	snprintf(text, sizeof(text), "%s%s: %s", text_last_component(side->reading[0].path), more,
		 reading_command(&side->reading[0], command, sizeof(command)));
	return emit_text_json(text);
}

static json_t *command(const struct page *p)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s -> %s", text_last_component(p->side[0].reading[0].path),
		 text_last_component(p->side[1].reading[0].path));
	return emit_text_json(text);
}

static void add_item(json_t *list, const char *label, json_t *value, bool bad)
{
	json_array_append_new(list, json_pack("[s,o,b]", label, value, (int)bad));
}

static const char *amount_text(const struct page *p, double amount, char *buf, size_t n)
{
	return p->rows.measure == DIFF_TIME ? fmt_time(amount, buf, n)
					    : fmt_count((uint64_t)llround(amount), buf, n);
}

static json_t *total(const struct page *p)
{
	const double *t = p->rows.total;
	char base[40], new[40], text[120];

	snprintf(text, sizeof(text), t[0] > 0 ? "%s -> %s, ratio %.2f" : "%s -> %s",
		 amount_text(p, t[0], base, sizeof(base)), amount_text(p, t[1], new, sizeof(new)),
		 t[1] / t[0]);
	return emit_text_json(text);
}

static json_t *summary(const struct page *p)
{
	json_t *list = json_array();

	for (int which = 0; which < 2; which++)
		add_item(list, which ? "new" : "base", side_text(&p->side[which]), false);
	if (p->rows.measure == DIFF_SHARE)
		add_item(list, "compared:", emit_text_json("shares of the samples"), false);
	else
		add_item(list, p->rows.measure == DIFF_TIME ? "CPU time" : "instructions", total(p),
			 false);
	if (p->o->image)
		add_item(list, "only images", emit_text_json(p->o->image), false);
	for (int which = 0; which < 2; which++)
		for (size_t k = 0; k < p->side[which].n; k++)
			if (!reading_finished(&p->side[which].reading[k]))
				add_item(list, "unfinished:",
					 emit_text_json(text_last_component(
						 p->side[which].reading[k].path)),
					 true);
	return list;
}

/* Executions are counts and stay whole numbers; times are estimates. */
static json_t *amount_json(const struct page *p, double amount)
{
	return p->rows.measure == DIFF_EXECUTIONS ? json_integer((json_int_t)llround(amount))
						  : json_real(diff_amount(&p->rows, amount));
}

static json_t *make_row(const struct page *p, const struct diff_row *row)
{
	const struct diff_amounts *a = &row->a;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:i}", "image",
			 emit_text_json(row->image), "name",
			 emit_text_json(row->procedure ? row->procedure : ""), "line",
			 emit_text_json(row->line ? row->line : ""), "base",
			 amount_json(p, a->mean[0]), "new", amount_json(p, a->mean[1]), "ratio",
			 real_or_null(a->mean[1] / a->mean[0]), "low", real_or_null(a->ratio.low),
			 "high", real_or_null(a->ratio.high), "verdict", (int)a->verdict);
}

static json_t *rows(const struct page *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->rows.n && i < ROWS_SHOWN; i++)
		json_array_append_new(list, make_row(p, p->rows.row[i]));
	return list;
}

static json_t *verdicts(const struct page *p)
{
	json_t *list = json_array();

	for (int v = 0; v < DIFF_VERDICTS; v++)
		json_array_append_new(list, json_string(diff_verdict_name(&p->rows, v)));
	return list;
}

static json_t *funcs(const struct diff_graph *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nfunc; i++)
		json_array_append_new(list, json_pack("[o,o,i]", emit_text_json(g->func[i]->name),
						      emit_text_json(g->func[i]->image),
						      g->func[i]->kind));
	return list;
}

/* Writes a column of numbers, with as many digits as can be seen. */
#define WRITE_COLUMN(name, value) \
	do { \
		fputs("\"" name "\":[", p->out); \
		for (size_t i = 0; i < t->n; i++) \
			fprintf(p->out, "%s%.4g", i ? "," : "", (double)(value)); \
		fputs("]", p->out); \
	} while (0)

static void write_tree(const struct page *p, const struct diff_tree *t)
{
	fputs("{\"p\":[", p->out);
	for (size_t i = 0; i < t->n; i++)
		fprintf(p->out, "%s%u", i ? "," : "", i ? t->parent[i] : 0);
	fputs("],\n\"f\":[", p->out);
	for (size_t i = 0; i < t->n; i++)
		fprintf(p->out, "%s%d", i ? "," : "", i ? (int)t->func[i] : -1);
	fputs("],\n", p->out);
	WRITE_COLUMN("base", diff_amount(&p->rows, t->a[i].mean[0]));
	fputs(",\n", p->out);
	WRITE_COLUMN("new", diff_amount(&p->rows, t->a[i].mean[1]));
	fputs(",\n", p->out);
	WRITE_COLUMN("v", t->a[i].verdict);
	fputs("}", p->out);
}

static void put_data(void *ctx)
{
	const struct page *p = ctx;
	const struct diff_graph *g = &p->graph;

	putc('{', p->out);
	html_member(p->out, "unit", json_string(diff_unit_name(&p->rows)));
	html_member(p->out, "exact", json_boolean(p->rows.measure == DIFF_EXECUTIONS));
	html_member(p->out, "between", json_boolean(p->rows.between));
	html_member(p->out, "unmatched", json_boolean(p->rows.unmatched));
	html_member(p->out, "false", json_real(DIFF_FALSE));
	html_member(p->out, "command", command(p));
	html_member(p->out, "summary", summary(p));
	html_member(p->out, "verdicts", verdicts(p));
	html_member(p->out, "rows", rows(p));
	html_member(p->out, "rows_total", json_integer((json_int_t)p->rows.n));
	html_member(p->out, "funcs", funcs(g));
	html_member(p->out, "flat", json_boolean(g->flat));
	html_member(p->out, "plots", json_array());
	fputs("\"trees\":[", p->out);
	if (!g->flat) {
		write_tree(p, &g->forward);
		fputs(",\n", p->out);
		write_tree(p, &g->backward);
	}
	fputs("]}", p->out);
}

int html_diff_write(struct diff_side side[2], const struct diff_options *o, FILE *out,
		    struct err *err)
{
	struct page p = { .side = side, .o = o, .out = out };
	unsigned long failures = emit_json_failures();
	int rc = diff_compare(&p.rows, side, o, err);

	if (!rc)
		rc = diff_graph_open(&p.graph, &p.rows, side, o->image, err);
	if (!rc) {
		html_page(out, HTML_DIFF, put_data, &p);
		diff_graph_close(&p.graph);
	}
	diff_rows_fini(&p.rows);
	if (emit_json_failures() != failures)
		rc = err_no_memory(err, "the page");
	return rc;
}
