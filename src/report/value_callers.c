/* SPDX-License-Identifier: MIT */
#include "report/value_callers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fmt.h"
#include "observe/callers.h"
#include "query/listing.h"
#include "query/lookup.h"
#include "report/caller_time.h"
#include "report/calltree.h"
#include "report/operands.h"
#include "report/place.h"
#include "report/takes.h"

#define CALLER_WIDTH 32 /* columns of a caller's name */

struct row {
	const struct caller *c;
	uint32_t proc; /* procedure of the view */
	int operand;
	uint64_t value, observations;
	struct share share; /* share of the value in calls by that caller */
	double whole;	    /* share of the value in all calls */
	double time, worth;
};

struct code {
	bool tried, ok;
	struct listing listing;
};

struct table {
	struct reading *r;
	const struct values_options *o;
	uint32_t operands;
	const struct view_proc *only;
	const struct caller **list; /* by site */
	size_t nlist;
	struct code *code; /* by procedure of the view */
	struct takes takes;
	struct caller_time times;
	struct row *row;
	size_t n, room;
};

enum {
	COLUMN_TIME,
	COLUMN_SHARE,
	COLUMN_LOW,
	COLUMN_WHOLE,
	COLUMN_OBSERVATIONS,
	COLUMN_VALUE,
	COLUMN_WHERE,
	COLUMN_OPERAND,
	COLUMN_HEX,
	COLUMN_PLACE,
	COLUMN_CALLER,
	COLUMN_N
};

static const struct column columns[COLUMN_N] = {
	[COLUMN_TIME] = { "time_share", "time", "%", 6, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_SHARE] = { "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_LOW] = { "low", ">=", "%", 5, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_WHOLE] = { "share_of_all", "of all", "%", 8, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_OBSERVATIONS] = { "observations", "observed", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_VALUE] = { NULL, "value", NULL, 19, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_WHERE] = { NULL, "where", NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_OPERAND] = { "operand", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_HEX] = { "value", NULL, NULL, 0, EMIT_LEFT, EMIT_HEX },
	[COLUMN_PLACE] = { "at", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	[COLUMN_CALLER] = { "caller", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
};

static const struct term terms[] = {
	{ "time", "share of the program's time: that of the instruction, or of an argument's "
		  "procedure, in calls by this caller" },
	{ "share", "of the times that the operand was known in calls by this caller, those that "
		   "it had this value" },
	{ ">=", "the lower 95 % limit of that share" },
	{ "of all", "the share of the value over all callers" },
	{ 0 },
};

/* Choosing the instructions to look at. */

static int by_site(const void *a, const void *b)
{
	const struct caller *c = *(const struct caller *const *)a;
	const struct caller *d = *(const struct caller *const *)b;
	int order = site_id_order(c->key.site, d->key.site);

	return order ? order : site_id_order(c->key.caller, d->key.caller);
}

static int sort_callers(struct table *t)
{
	const struct profile *p = &t->r->profile;
	size_t n = callers_count(p);

	t->list = calloc(n + 1, sizeof(*t->list));
	if (!t->list)
		return -1;
	for (; t->nlist < n; t->nlist++)
		t->list[t->nlist] = &p->callers->v[t->nlist];
	qsort(t->list, t->nlist, sizeof(*t->list), by_site);
	return 0;
}

/* Returns the instruction as it is in the file, or NULL. */
static const struct listing_insn *insn_of(struct table *t, uint32_t proc, uint64_t addr)
{
	const struct view_proc *p = &t->r->view.proc[proc];
	struct code *c = &t->code[proc];
	struct image *im;

	if (!c->tried && p->n) {
		im = binaries_get(&t->r->binaries, p->image);
		c->ok = im && !listing_read(&c->listing, im, &t->r->view, p);
	}
	c->tried = true;
	return c->ok ? listing_at(&c->listing, addr) : NULL;
}

/* Whether a value there is of interest: addresses in the stack differ by caller anyway. */
static bool tells(struct table *t, uint32_t proc, const struct site *s, int operand)
{
	const struct listing_insn *li = insn_of(t, proc, s->id.addr);

	if (operand >= OPERAND_ARG0)
		return takes_argument(&t->takes, &t->r->view.proc[proc], operand - OPERAND_ARG0);
	if (operand == OPERAND_RETURN)
		return true;
	return s->cls != INSN_RET && (!li || (!li->frame && !li->constant));
}

/* The share of the value in all observations of the operand. */
static struct share whole_share(const struct table *t, const struct site *s, int operand,
				uint64_t value)
{
	struct operand_values o;

	if (!operands_read(&o, &t->r->view, s, operand))
		return (struct share){ .high = 1 };
	for (unsigned i = 0; i < o.n; i++)
		if (o.value[i].value == value)
			return o.share[i];
	return (struct share){ 0 };
}

static int add(struct table *t, const struct row *row)
{
	if (!array_reserve(t->row, t->room, t->n + 1))
		return -1;
	t->row[t->n++] = *row;
	return 0;
}

/*
 * The instruction's time in calls by the caller, or for an argument the procedure's. If no sample's stack tells how the
 * time divides, it divides as executions do, of which `part` are the caller's.
 */
static double time_of(const struct table *t, size_t site, const struct caller *c, int operand,
		      double part)
{
	const struct view *v = &t->r->view;
	uint32_t proc = v->proc_of[site];
	bool whole = operand >= OPERAND_ARG0;
	double sampled = whole ? caller_time_of_proc(&t->times, proc, c->key.caller)
			       : caller_time_of_site(&t->times, c->key.site, c->key.caller);

	return (sampled < 0 ? part : sampled) *
	       (whole ? v->proc[proc].sum.time : view_time(v, v->site[site]));
}

static int consider(struct table *t, size_t site, const struct caller *c, int operand, double part)
{
	const struct view *v = &t->r->view;
	const struct site *s = v->site[site];
	struct row row = { .c = c, .proc = v->proc_of[site], .operand = operand };
	const struct hot *h = caller_hot(c, operand);
	struct hot_value top;
	struct share whole;
	double n;

	if (!hot_top(h, &top, 1))
		return 0;
	row.observations = hot_total(h);
	n = (double)row.observations;
	row.share = share_hot(&top, n, n < (double)c->windows ? n : (double)c->windows);
	row.value = top.value;
	whole = whole_share(t, s, operand, top.value);
	row.whole = whole.value;
	if (row.share.low < t->o->min_share || (row.share.low <= whole.high && !t->o->all) ||
	    (!tells(t, row.proc, s, operand) && !t->o->all))
		return 0;
	row.time = time_of(t, site, c, operand, part);
	row.worth = row.time * row.share.low;
	return add(t, &row);
}

/* Judges all callers of one instruction, [i, end) of the list. */
static int consider_site(struct table *t, size_t i, size_t end)
{
	const struct view *v = &t->r->view;
	size_t at = place_index(v, t->list[i]->key.site);
	uint64_t all = 0;

	if (at == SIZE_MAX || !view_image_matches(v, v->site[at]->id.image, t->o->image) ||
	    (t->only && &v->proc[v->proc_of[at]] != t->only))
		return 0;
	for (size_t k = i; k < end; k++)
		all += t->list[k]->observed;
	for (size_t k = i; k < end; k++)
		for (int operand = 0; operand < OPERAND_N; operand++)
			if ((t->operands >> operand & 1) && caller_hot(t->list[k], operand) &&
			    consider(t, at, t->list[k], operand,
				     (double)t->list[k]->observed / (double)all))
				return -1;
	return 0;
}

static int consider_all(struct table *t)
{
	for (size_t i = 0, end; i < t->nlist; i = end) {
		end = i + 1;
		while (end < t->nlist &&
		       !site_id_order(t->list[i]->key.site, t->list[end]->key.site))
			end++;
		if (consider_site(t, i, end))
			return -1;
	}
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order;

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	order = by_site(&x->c, &y->c);
	return order ? order : x->operand - y->operand;
}

/* Printing. */

static struct site_id call_of(const struct caller *c)
{
	return (struct site_id){ .image = c->key.caller.image, .addr = c->key.caller.addr - 1 };
}

static void print_row(struct table *t, const struct row *row)
{
	const struct view_proc *p = &t->r->view.proc[row->proc];
	struct image *im = p->n ? binaries_get(&t->r->binaries, p->image) : NULL;
	int width = emit_column_width(&t->r->emit, COLUMN_WHERE);
	char value[80], hex[32], where[600], by[600];
	struct place at, caller;
	struct insn in;
	bool decoded = im && listing_decode(&in, im, row->c->key.site.addr);
	struct cell cell[COLUMN_N];

	place_find(&at, t->r, row->c->key.site);
	place_find(&caller, t->r, call_of(row->c));
	snprintf(value, sizeof(value), "%s=%s", operands_label(decoded ? &in : NULL, row->operand),
		 fmt_hex(row->value, hex, sizeof(hex)));
	cell[COLUMN_TIME] = cell_real(view_share(&t->r->view, row->time));
	cell[COLUMN_SHARE] = cell_real(row->share.value);
	cell[COLUMN_LOW] = cell_real(row->share.low);
	cell[COLUMN_WHOLE] = cell_real(row->whole);
	cell[COLUMN_OBSERVATIONS] = cell_count(row->observations);
	cell[COLUMN_VALUE] = cell_text(value);
	cell[COLUMN_WHERE] = cell_text(place_text(&at, width, where, sizeof(where)));
	cell[COLUMN_OPERAND] = cell_text(operand_name[row->operand]);
	cell[COLUMN_HEX] = cell_count(row->value);
	cell[COLUMN_PLACE] = t->r->emit.json ? cell_json(place_json(&at)) : cell_none();
	cell[COLUMN_CALLER] = t->r->emit.json ? cell_json(place_json(&caller)) : cell_none();
	emit_row(&t->r->emit, cell);
	emit_line(&t->r->emit, "%*scalled by %s", emit_column_at(&t->r->emit, COLUMN_VALUE), "",
		  place_text(&caller, CALLER_WIDTH, by, sizeof(by)));
}

static void print_all(struct table *t)
{
	size_t shown = t->o->n && t->o->n < t->n ? t->o->n : t->n;
	char a[32], b[32];

	reading_heading(t->r);
	emit_table(&t->r->emit, "values", columns, COLUMN_N);
	for (size_t i = 0; i < shown; i++)
		print_row(t, &t->row[i]);
	emit_line(&t->r->emit, "%s", "");
	emit_footer(&t->r->emit,
		    "%s of %s shown: a lower limit of %g or more, and above the share over all "
		    "callers. "
		    "More: -n 0, --all, --min-share, --operand.",
		    fmt_count(shown, a, sizeof(a)), fmt_count(t->n, b, sizeof(b)), t->o->min_share);
	emit_terms(&t->r->emit, terms);
}

static int open_table(struct table *t, struct err *err)
{
	if (t->o->procedure) {
		t->only = lookup_proc(&t->r->view, t->o->procedure, t->o->image, err);
		if (!t->only)
			return -1;
	}
	t->code = calloc(t->r->view.nproc + 1, sizeof(*t->code));
	if (!t->code || takes_init(&t->takes, t->r) || caller_time_init(&t->times, &t->r->view))
		return err_no_memory(err, "values by caller");
	return sort_callers(t) ? err_no_memory(err, "values by caller") : 0;
}

static void close_table(struct table *t)
{
	takes_fini(&t->takes);
	caller_time_fini(&t->times);
	for (size_t i = 0; t->code && i < t->r->view.nproc; i++)
		if (t->code[i].ok)
			listing_fini(&t->code[i].listing);
	free(t->code);
	free(t->list);
	free(t->row);
}

/* Tells why there is no row. */
static int refuse_none(const struct table *t, struct err *err)
{
	const struct profile *p = &t->r->profile;

	if (!p->stacks.nsample) {
		err_set(err, ERR_EMPTY, "%s has no values by caller", t->r->path);
		return err_hint(err, STACKS_REMEDY);
	}
	if (!p->callers) {
		err_set(err, ERR_EMPTY,
			"no instruction of %s was seen twice in calls from one place", t->r->path);
		return err_hint(err, "record for longer, or at a higher rate (-F)");
	}
	err_set(err, ERR_EMPTY,
		"no value has a share of at least %g for sure in calls from one place, and a lower "
		"one over all callers",
		t->o->min_share);
	return err_hint(err, t->o->all ? "a lower --min-share shows weaker ones; so does recording "
					 "for longer"
				       : "--all shows those that all callers have, too");
}

int value_callers_print(struct reading *r, const struct values_options *o, struct err *err)
{
	struct table t = { .r = r, .o = o, .operands = values_operands(o->operand) };
	int rc;

	rc = open_table(&t, err);
	if (!rc && consider_all(&t))
		rc = err_no_memory(err, "values by caller");
	if (!rc && !t.n)
		rc = refuse_none(&t, err);
	if (!rc) {
		qsort(t.row, t.n, sizeof(*t.row), most_first);
		print_all(&t);
	}
	close_table(&t);
	return rc;
}
