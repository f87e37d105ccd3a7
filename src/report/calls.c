/* SPDX-License-Identifier: MIT */
#include "report/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "x86/insn.h"
#include "observe/calls.h"
#include "observe/edges.h"
#include "query/lookup.h"
#include "report/operands.h"
#include "report/place.h"
#include "report/takes.h"
#include "report/transfers.h"

#define VALUE_SHOWN 0.3 /* share from which on text shows the hottest value */

static const char *const how_name[] = { "direct", "indirect", "tail" };

struct calls {
	struct reading *r;
	const struct calls_options *o;
	const struct view_proc *only;
	struct transfers all;
	uint64_t total; /* total of the present table */
	bool values;	/* whether the table has any values */
	struct takes takes;
};

enum {
	COLUMN_COUNT,
	COLUMN_SHARE,
	COLUMN_FROM,
	COLUMN_TO,
	COLUMN_HOW,
	COLUMN_N
};

static const struct column text_columns[COLUMN_N] = {
	[COLUMN_COUNT] = { NULL, "calls", NULL, 13, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_SHARE] = { NULL, "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_FROM] = { NULL, "from", NULL, 22, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_TO] = { NULL, "to", NULL, 20, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_HOW] = { NULL, "how", NULL, 8, EMIT_LEFT, EMIT_TEXT },
};

static const struct column json_columns[] = {
	{ "count", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "share", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "how", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "from", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	{ "to", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	{ "operands", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
};

static int most_first(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	int order = site_id_order(x->from, y->from);

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return order ? order : site_id_order(x->to, y->to);
}

/* Printing calls. */

static const struct call *call_of(const struct calls *cs, const struct transfer *row)
{
	const struct call_key key = { row->from, row->to };
	struct call *c;

	HASH_FIND(hh, cs->r->profile.calls, &key, sizeof(key), c);
	return c;
}

/* The register of an argument that the callee does not take says nothing. */
static bool is_passed(struct calls *cs, const struct transfer *row, int operand)
{
	return operand == OPERAND_RETURN ||
	       takes_argument(&cs->takes, row->callee, operand - OPERAND_ARG0);
}

static bool values_of(struct calls *cs, const struct transfer *row, int operand,
		      struct operand_values *o)
{
	const struct call *c = call_of(cs, row);

	return c && is_passed(cs, row, operand) &&
	       operands_list(o, &cs->r->view, row->site, operand,
			     c->value[operand - OPERAND_RETURN], row->count);
}

/* The hot values of arguments, then of the result, as much as a line holds. */
static void print_values(struct calls *cs, const struct transfer *row)
{
	struct emit *e = &cs->r->emit;
	int indent = emit_column_at(e, COLUMN_FROM), room = e->width - indent;
	char line[1024] = "", one[256];

	for (int k = 0; k < CALL_VALUES; k++) {
		int operand = k + 1 < CALL_VALUES ? OPERAND_ARG0 + k : OPERAND_RETURN;
		struct operand_values o;
		int left = room - (int)strlen(line) - 2;

		if (!values_of(cs, row, operand, &o) || o.share[0].low < VALUE_SHOWN)
			continue;
		o.n = 1;
		operands_text(&o, operands_label(NULL, operand), left, one, sizeof(one));
		if ((int)strlen(one) > left && !e->wide)
			continue;
		if (strlen(line) + strlen(one) + 3 < sizeof(line))
			snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s",
				 line[0] ? " " : "", one);
	}
	if (line[0])
		emit_line(e, "%*s%s", indent, "", line);
}

static void print_text(struct calls *cs, const struct transfer *row)
{
	struct emit *e = &cs->r->emit;
	struct cell cell[COLUMN_N];
	char from[600], to[600];
	struct place a, b;

	place_find(&a, cs->r, row->from);
	place_find(&b, cs->r, row->to);
	cell[COLUMN_COUNT] = cell_count(row->count);
	cell[COLUMN_SHARE] = cell_real((double)row->count / (double)cs->total);
	cell[COLUMN_FROM] =
		cell_text(place_text(&a, emit_column_width(e, COLUMN_FROM), from, sizeof(from)));
	cell[COLUMN_TO] =
		cell_text(place_text(&b, emit_column_width(e, COLUMN_TO), to, sizeof(to)));
	cell[COLUMN_HOW] = cell_text(how_name[row->how]);
	emit_row(e, cell);
	print_values(cs, row);
}

static void print_json(struct calls *cs, const struct transfer *row)
{
	json_t *operands = json_array();
	struct operand_values o;
	struct place a, b;

	for (int k = OPERAND_RETURN; k < OPERAND_N; k++)
		if (values_of(cs, row, k, &o))
			json_array_append_new(operands, operands_json(&o, NULL));
	place_find(&a, cs->r, row->from);
	place_find(&b, cs->r, row->to);
	{
		const struct cell cell[] = {
			cell_count(row->count),
			cell_real((double)row->count / (double)cs->total),
			cell_text(how_name[row->how]),
			cell_json(place_json(&a)),
			cell_json(place_json(&b)),
			cell_json(operands),
		};

		emit_row(&cs->r->emit, cell);
	}
}

enum which {
	ALL,
	CALLERS,
	CALLEES
};

static bool belongs(const struct calls *cs, const struct transfer *row, enum which which)
{
	if (which == CALLERS)
		return row->callee == cs->only;
	if (which == CALLEES)
		return row->caller == cs->only;
	return view_image_matches(&cs->r->view, row->from.image, cs->o->image);
}

/* Prints a table. Returns the number of its rows. */
static size_t print_table(struct calls *cs, const char *key, enum which which)
{
	struct emit *e = &cs->r->emit;
	size_t n = 0, shown = 0;
	char total[48];

	cs->total = 0;
	for (size_t i = 0; i < cs->all.n; i++)
		if (belongs(cs, &cs->all.v[i], which)) {
			cs->total += cs->all.v[i].count;
			n++;
		}
	if (!e->json && !n && which != ALL) {
		emit_line(e, "no %s", key);
		return 0;
	}
	if (which != ALL && !e->json)
		emit_line(e, "%s", key);
	emit_table(e, key, e->json ? json_columns : text_columns,
		   e->json ? (int)(sizeof(json_columns) / sizeof(json_columns[0])) : COLUMN_N);
	for (size_t i = 0; i < cs->all.n && (!cs->o->n || shown < cs->o->n); i++) {
		if (!belongs(cs, &cs->all.v[i], which))
			continue;
		shown++;
		if (e->json)
			print_json(cs, &cs->all.v[i]);
		else
			print_text(cs, &cs->all.v[i]);
	}
	snprintf(total, sizeof(total), "%s_total", key);
	emit_set(e, total, json_integer((json_int_t)n));
	if (!e->json && shown < n)
		emit_line(e, "%*s%s more: -n 0 shows all", emit_column_at(e, COLUMN_FROM), "",
			  fmt_count(n - shown, total, sizeof(total)));
	return n;
}

static const struct term terms[] = {
	{ "share", "of the calls listed here" },
	{ "tail", "a jump to where another procedure begins" },
	{ 0 },
};

static void print_footer(struct calls *cs)
{
	struct emit *e = &cs->r->emit;

	emit_line(e, "%s", "");
	if (!cs->r->view.exact)
		emit_footer(e, "Calls are those that windows saw: more of code that takes more "
			       "time.");
	else if (!HASH_COUNT(cs->r->profile.calls))
		emit_footer(e, "`assay record --exact --observe values -- CMD` records their "
			       "arguments, too.");
	emit_footer(e, "`assay calls PROC` shows who calls it, and whom it calls.");
	emit_terms(e, terms);
}

static void print_procedure(struct calls *cs)
{
	struct emit *e = &cs->r->emit;
	char name[1024];

	view_proc_name(cs->only, name, sizeof(name));
	emit_set(e, "procedure", emit_text_json(name));
	emit_set(e, "image", emit_text_json(cs->r->view.image[cs->only->image].name));
	emit_set(e, "address", emit_hex_json(cs->only->start));
	emit_line(e, "%s (%s)", name, cs->r->view.image[cs->only->image].name);
	emit_line(e, "%s", "");
	print_table(cs, "callers", CALLERS);
	emit_line(e, "%s", "");
	print_table(cs, "callees", CALLEES);
}

static int refuse_none(const struct calls *cs, struct err *err)
{
	const struct view *v = &cs->r->view;

	err_set(err, ERR_EMPTY, "%s holds no calls", cs->r->path);
	if (!v->exact && !v->counters.windows)
		return err_hint(err, "it has no windows: `assay info` says why they ended");
	return err_hint(err, v->exact ? "an older assay, which did not note them, may have made it"
				      : "recording for longer may show some");
}

int calls_print(struct reading *r, const struct calls_options *o, struct err *err)
{
	struct calls cs = { .r = r, .o = o };
	int rc = 0;

	if (o->procedure) {
		cs.only = lookup_proc(&r->view, o->procedure, o->image, err);
		if (!cs.only)
			return -1;
	}
	if (takes_init(&cs.takes, r) || transfers_collect(&cs.all, &r->view))
		rc = err_no_memory(err, "the report");
	else if (!cs.all.n)
		rc = refuse_none(&cs, err);
	if (!rc && cs.all.n) {
		qsort(cs.all.v, cs.all.n, sizeof(*cs.all.v), most_first);
		reading_heading(r);
		if (cs.only)
			print_procedure(&cs);
		else
			print_table(&cs, "calls", ALL);
		print_footer(&cs);
	}
	takes_fini(&cs.takes);
	transfers_fini(&cs.all);
	return rc;
}
