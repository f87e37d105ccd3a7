/* SPDX-License-Identifier: MIT */
#include "report/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fmt.h"
#include "query/listing.h"
#include "query/lookup.h"
#include "report/operands.h"
#include "query/slice.h"

#define SAME 0.02    /* difference of shares up to which a result follows from an invariant */
#define BATCH 256    /* candidates that are measured at first */
#define SPARE 4	     /* measured candidates for each row, because derived ones are dropped later */
#define LEAST 0.0005 /* share of the program's time; candidates worth less are not shown */
#define POINTER 0x10000		/* smallest address: vm.mmap_min_addr */
#define POINTER_END (1ul << 56) /* values above are no addresses: negative offsets, for example */

struct candidate {
	const struct site *site;
	uint32_t proc;
	int operand;
	uint64_t value, observations;
	struct share share;
	/* time at the instruction and its dependents; before measuring, its upper limit */
	double time;
	double worth; /* time x lower limit */
	bool address; /* the value is part of an accessed address */
};

/* The decoded code of a procedure. */
struct code {
	bool tried, ok;
	struct listing listing;
	struct slice slice;
};

struct values {
	struct reading *r;
	const struct values_options *o;
	uint32_t operands; /* one bit for each enum operand */
	const struct view_proc *only;
	struct code *code; /* by procedure */
	struct candidate *v;
	size_t n, cap, considered;
	struct column column[EMIT_COLUMNS];
	bool bounded; /* some displayed share is an estimate */
};

enum {
	COLUMN_TIME,
	COLUMN_SHARE,
	COLUMN_LOW,
	COLUMN_OBSERVATIONS,
	COLUMN_VALUE,
	COLUMN_HINT,
	COLUMN_WHERE,
	COLUMN_N
};

/* Columns of text, some of which combine several keys of JSON. */
static const struct column text_columns[COLUMN_N] = {
	[COLUMN_TIME] = { NULL, "time", "%", 6, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_SHARE] = { NULL, "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_LOW] = { NULL, ">=", "%", 5, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_OBSERVATIONS] = { NULL, "observed", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_VALUE] = { NULL, "value", NULL, 19, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_HINT] = { NULL, "hint", NULL, 5, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_WHERE] = { NULL, "where", NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static const struct column json_columns[] = {
	[COLUMN_TIME] = { "time_share", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "share", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "bound", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "low", NULL, NULL, 0, EMIT_LEFT, EMIT_SHARE },
	{ "observations", NULL, NULL, 0, EMIT_LEFT, EMIT_COUNT },
	{ "operand", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "register", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "value", NULL, NULL, 0, EMIT_LEFT, EMIT_HEX },
	{ "hint", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "image", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "procedure", NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
	{ "address", NULL, NULL, 0, EMIT_LEFT, EMIT_ADDR },
};

/* Candidates. */

uint32_t values_operands(const char *word)
{
	const uint32_t results = 1u << OPERAND_RESULT | 1u << OPERAND_RESULT2;
	const uint32_t arguments = 0x3fu << OPERAND_ARG0;

	if (!word)
		return 1u << OPERAND_LOAD | results | arguments | 1u << OPERAND_RETURN;
	if (!strcmp(word, "all"))
		return (1u << OPERAND_N) - 1;
	if (!strcmp(word, "result"))
		return results;
	if (!strcmp(word, "argument"))
		return arguments;
	return 1u << operand_by_name(word);
}

static int add(struct values *vs, const struct candidate *c)
{
	if (!array_reserve(vs->v, vs->cap, vs->n + 1))
		return -1;
	vs->v[vs->n++] = *c;
	return 0;
}

/* Upper limit of the time: all dependents lie in the procedure. */
static double most_time(struct values *vs, const struct candidate *c)
{
	const struct view_proc *p = &vs->r->view.proc[c->proc];
	bool alone = !p->n || !binaries_get(&vs->r->binaries, p->image);

	return alone && c->operand < OPERAND_ARG0 ? view_time(&vs->r->view, c->site) : p->sum.time;
}

static int consider(struct values *vs, size_t i, int operand)
{
	const struct view *v = &vs->r->view;
	struct candidate c = { .site = v->site[i], .proc = v->proc_of[i], .operand = operand };
	struct operand_values o;

	if (!operands_read(&o, v, c.site, operand) || !o.n || o.share[0].low < vs->o->min_share)
		return 0;
	c.share = o.share[0];
	c.value = o.value[0].value;
	c.observations = o.observations;
	c.time = most_time(vs, &c);
	c.worth = c.time * c.share.low;
	return add(vs, &c);
}

static int collect(struct values *vs)
{
	const struct view *v = &vs->r->view;

	for (size_t i = 0; i < v->n; i++) {
		const struct site *s = v->site[i];

		if (!s->observed || !view_image_matches(v, s->id.image, vs->o->image))
			continue;
		if (vs->only && &v->proc[v->proc_of[i]] != vs->only)
			continue;
		for (int k = 0; k < OPERAND_N; k++)
			if ((vs->operands >> k & 1) && site_hot(s, k) && consider(vs, i, k))
				return -1;
	}
	vs->considered = vs->n;
	return 0;
}

static int by_worth(const void *a, const void *b)
{
	const struct candidate *c = a, *d = b;

	if (c->worth != d->worth)
		return c->worth > d->worth ? -1 : 1;
	if (c->share.low != d->share.low)
		return c->share.low > d->share.low ? -1 : 1;
	if (c->observations != d->observations)
		return c->observations > d->observations ? -1 : 1;
	if (c->site->id.image != d->site->id.image)
		return c->site->id.image < d->site->id.image ? -1 : 1;
	if (c->site->id.addr != d->site->id.addr)
		return c->site->id.addr < d->site->id.addr ? -1 : 1;
	return c->operand - d->operand;
}

static void sort(struct candidate *c, size_t n)
{
	if (n)
		qsort(c, n, sizeof(*c), by_worth);
}

/* Measuring candidates. */

/* Returns NULL if there is no code. */
static struct code *code_of(struct values *vs, uint32_t proc)
{
	const struct view_proc *p = &vs->r->view.proc[proc];
	struct code *c = &vs->code[proc];
	struct image *im;

	if (!c->tried && p->n) {
		im = binaries_get(&vs->r->binaries, p->image);
		c->ok = im && !listing_read(&c->listing, im, &vs->r->view, p);
		c->ok = c->ok && !slice_init(&c->slice, &c->listing);
	}
	c->tried = true;
	return c->ok ? c : NULL;
}

/* Finds the dependents. Returns false if the candidate is irrelevant. */
static bool follow(struct values *vs, struct code *code, const struct candidate *c)
{
	struct listing_insn *li = listing_at(&code->listing, c->site->id.addr);
	size_t i = li ? (size_t)(li - code->listing.v) : 0;

	code->slice.nfound = 0;
	if (!li || !li->valid)
		return true;
	if (c->operand >= OPERAND_ARG0)
		return slice_uses_argument(&code->slice, i, c->operand - OPERAND_ARG0) ||
		       vs->o->all;
	switch (c->operand) {
	case OPERAND_RESULT:
	case OPERAND_RESULT2:
		if (li->constant && !vs->o->all)
			return false;
		break;
	case OPERAND_LOAD:
	case OPERAND_ADDRESS:
		break;
	default: /* nothing in the procedure depends on these operands */
		return !li->frame || vs->o->all;
	}
	slice_from_result(&code->slice, i);
	return !li->frame || vs->o->all;
}

static bool measure(struct values *vs, struct candidate *c)
{
	const struct view *v = &vs->r->view;
	struct code *code = code_of(vs, c->proc);

	if (code) {
		if (!follow(vs, code, c))
			return false;
		struct listing_insn *li = c->operand < OPERAND_ARG0
						  ? listing_at(&code->listing, c->site->id.addr)
						  : NULL;

		c->time = slice_time(&code->slice, v,
				     li ? (size_t)(li - code->listing.v) : SLICE_NO_ORIGIN);
	} else if (c->operand < OPERAND_ARG0) {
		c->time = view_time(v, c->site);
	}
	c->worth = c->time * c->share.low;
	c->address = code && code->slice.nfound && code->slice.addresses && c->value >= POINTER &&
		     c->value < POINTER_END;
	return true;
}

/* Measures candidates in the order of their upper limits, until no other can be among the best. */
static void measure_best(struct values *vs)
{
	size_t want = vs->o->n ? (size_t)SPARE * vs->o->n + BATCH : SIZE_MAX, kept = 0, i = 0;

	sort(vs->v, vs->n);
	for (size_t batch = BATCH; i < vs->n; batch *= 2) {
		for (size_t k = 0; k < batch && i < vs->n; k++, i++) {
			struct candidate c = vs->v[i];

			if (measure(vs, &c))
				vs->v[kept++] = c;
		}
		sort(vs->v, kept);
		if (kept >= want && i < vs->n && vs->v[want - 1].worth >= vs->v[i].worth)
			break;
	}
	vs->n = kept;
}

static bool is_result(const struct candidate *c)
{
	return c->operand == OPERAND_RESULT || c->operand == OPERAND_RESULT2;
}

/* Marks the values that follow from a candidate. */
static void mark_derived(struct values *vs, const struct candidate *c)
{
	struct code *code = code_of(vs, c->proc);

	if (!code || !follow(vs, code, c))
		return;
	for (size_t k = 0; k < code->slice.nfound; k++) {
		struct listing_insn *li = &code->listing.v[code->slice.found[k]];

		if (li->derived < c->share.low)
			li->derived = c->share.low;
	}
}

static bool is_derived(struct values *vs, const struct candidate *c)
{
	struct code *code = is_result(c) ? code_of(vs, c->proc) : NULL;
	struct listing_insn *li = code ? listing_at(&code->listing, c->site->id.addr) : NULL;

	return li && li->derived > 0 && li->derived >= c->share.low - SAME;
}

static void cut(struct values *vs)
{
	double least = vs->o->all ? 0 : LEAST * vs->r->view.sum.time;
	size_t n = 0;

	while (n < vs->n && (!vs->o->n || n < vs->o->n) && vs->v[n].worth >= least)
		n++;
	vs->n = n;
}

/* Keeps the best n. A result that follows from a load or an argument is worth at most as much;
 * between two results, the better one is shown. */
static void choose(struct values *vs)
{
	size_t kept = 0, want = vs->o->n ? vs->o->n : SIZE_MAX;

	for (size_t i = 0; i < vs->n && !vs->o->all; i++)
		if (!is_result(&vs->v[i]))
			mark_derived(vs, &vs->v[i]);
	for (size_t i = 0; i < vs->n && kept < want && !vs->o->all; i++) {
		if (is_derived(vs, &vs->v[i]))
			continue;
		if (is_result(&vs->v[i]))
			mark_derived(vs, &vs->v[i]);
		vs->v[kept++] = vs->v[i];
	}
	if (!vs->o->all)
		vs->n = kept;
	cut(vs);
}

/* Printing. */

static const char *hint(const struct candidate *c)
{
	if (c->operand >= OPERAND_ARG0)
		return "clone";
	if (c->operand == OPERAND_ADDRESS || (c->operand == OPERAND_LOAD && c->address))
		return "fetch";
	return "guard";
}

static const char *label(struct values *vs, const struct candidate *c, bool *is_register)
{
	const struct view_proc *p = &vs->r->view.proc[c->proc];
	struct image *im = p->n ? binaries_get(&vs->r->binaries, p->image) : NULL;
	struct insn in;
	bool decoded = im && listing_decode(&in, im, c->site->id.addr);

	*is_register = c->operand >= OPERAND_RETURN || (decoded && is_result(c));
	return operands_label(decoded ? &in : NULL, c->operand);
}

/* Writes "name+0x1c", cutting a name that is too long. */
static void where_text(const struct values *vs, const struct candidate *c, const char *name,
		       char *buf, size_t n)
{
	const struct view_proc *p = &vs->r->view.proc[c->proc];
	int width = emit_column_width(&vs->r->emit, COLUMN_WHERE), room;
	const char *image = vs->r->view.image[p->image].name;
	char offset[32] = "";

	if (!p->n)
		snprintf(offset, sizeof(offset), " 0x%" PRIx64, c->site->id.addr);
	else if (c->site->id.addr > p->start)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, c->site->id.addr - p->start);
	room = width - (int)strlen(offset);
	if ((int)strlen(name) > room && room > 4)
		snprintf(buf, n, "%.*s..%s", room - 2, name, offset);
	else
		snprintf(buf, n, "%s%s", name, offset);
	room -= (int)strlen(name) + 1;
	if (room >= (int)strlen(image) + 2)
		snprintf(buf + strlen(buf), n - strlen(buf), " (%s)", image);
}

static void print_text(struct values *vs, const struct candidate *c)
{
	const struct view *v = &vs->r->view;
	char name[1024], where[1100], value[80], hex[32];
	struct cell cell[COLUMN_N];
	bool is_register;

	view_proc_name(&v->proc[c->proc], name, sizeof(name));
	view_cut_parameters(name);
	where_text(vs, c, name, where, sizeof(where));
	snprintf(value, sizeof(value), "%s=%s", label(vs, c, &is_register),
		 fmt_hex(c->value, hex, sizeof(hex)));
	cell[COLUMN_TIME] = cell_real(view_share(v, c->time));
	cell[COLUMN_SHARE] = cell_real(c->share.value);
	cell[COLUMN_LOW] = cell_real(c->share.low);
	cell[COLUMN_OBSERVATIONS] = cell_count(c->observations);
	cell[COLUMN_VALUE] = cell_text(value);
	cell[COLUMN_HINT] = cell_text(hint(c));
	cell[COLUMN_WHERE] = cell_text(where);
	emit_row(&vs->r->emit, cell);
}

static void print_json(struct values *vs, const struct candidate *c)
{
	const struct view *v = &vs->r->view;
	const struct view_proc *p = &v->proc[c->proc];
	bool is_register;
	const char *reg = label(vs, c, &is_register);
	char name[1024];
	const struct cell cell[] = {
		cell_real(view_share(v, c->time)),
		cell_real(c->share.value),
		cell_real(c->share.bound),
		cell_real(c->share.low),
		cell_count(c->observations),
		cell_text(operand_name[c->operand]),
		cell_text(is_register ? reg : NULL),
		cell_count(c->value),
		cell_text(hint(c)),
		cell_text(v->image[p->image].name),
		cell_text(view_proc_name(p, name, sizeof(name))),
		cell_count(c->site->id.addr),
	};

	emit_row(&vs->r->emit, cell);
}

static const struct term sampled_terms[] = {
	{ "time", "of the program's time, at the instruction and those that depend on its value" },
	{ "share", "of the times that the value was known, those that it was this one" },
	{ ">=", "the lower 95 % limit of that share" },
	{ "observed", "how often windows saw the site. Windows begin where time is spent: two "
		      "sites' numbers do not compare how often they run" },
	{ 0 },
};

static const struct term exact_terms[] = {
	{ "all", "of the executed instructions, those of the instruction and of what depends on "
		 "its value" },
	{ "share", "of the executions, those with this value" },
	{ ">=", "the lower limit of that share, where more values came than the list holds" },
	{ 0 },
};

static const struct term hint_terms[] = {
	{ "clone", "make a copy of the procedure for that argument" },
	{ "guard", "test for the value, and specialise what depends on it" },
	{ "fetch", "the value is an address: prefetch what it points to" },
	{ 0 },
};

static void print_footer(struct values *vs)
{
	struct emit *e = &vs->r->emit;
	bool exact = vs->r->view.exact;
	char a[32], b[32];

	emit_line(e, "%s", "");
	emit_footer(
		e,
		"%s of %s shown: a share of at least %g for sure. More: -n 0, --all, --min-share, "
		"--operand.",
		fmt_count(vs->n, a, sizeof(a)), fmt_count(vs->considered, b, sizeof(b)),
		vs->o->min_share);
	if (vs->r->binaries.missing)
		emit_footer(e,
			    "%u image%s could not be read: there, %s is the instruction's own, or "
			    "the procedure's for an argument.",
			    vs->r->binaries.missing, plural(vs->r->binaries.missing),
			    exact ? "all" : "time");
	if (exact)
		emit_terms(e, exact_terms);
	else
		emit_terms(e, sampled_terms);
	emit_terms(e, hint_terms);
}

/* Adapts the columns to exact recordings: executions instead of time, and limits only where a
 * list was too short. */
static void make_exact(struct values *vs)
{
	struct column *c = vs->column;
	uint64_t most = 0;
	char count[32];

	for (size_t i = 0; i < vs->n; i++) {
		vs->bounded |= vs->v[i].share.bound > 0;
		if (vs->v[i].observations > most)
			most = vs->v[i].observations;
	}
	if (vs->r->emit.json) {
		c[COLUMN_TIME].key = "executed_share";
		return;
	}
	c[COLUMN_TIME].header = "all";
	c[COLUMN_OBSERVATIONS].header = "executions";
	c[COLUMN_OBSERVATIONS].width = (int)strlen(fmt_count(most, count, sizeof(count)));
	if (!vs->bounded)
		c[COLUMN_LOW].header = NULL;
}

static void print_all(struct values *vs)
{
	bool json = vs->r->emit.json;

	memcpy(vs->column, json ? json_columns : text_columns,
	       json ? sizeof(json_columns) : sizeof(text_columns));
	if (vs->r->view.exact)
		make_exact(vs);
	reading_heading(vs->r);
	emit_table(&vs->r->emit, "values", vs->column,
		   json ? (int)(sizeof(json_columns) / sizeof(json_columns[0])) : COLUMN_N);
	for (size_t i = 0; i < vs->n; i++) {
		if (json)
			print_json(vs, &vs->v[i]);
		else
			print_text(vs, &vs->v[i]);
	}
	emit_set(&vs->r->emit, "values_total", json_integer((json_int_t)vs->considered));
	print_footer(vs);
}

/* Whether these operands have any value. */
static bool has_values(const struct view *v, uint32_t operands)
{
	for (size_t i = 0; i < v->n; i++)
		for (int k = 0; k < OPERAND_N; k++)
			if (site_hot(v->site[i], k) && (operands >> k & 1))
				return true;
	return false;
}

static int refuse_unobserved(const struct values *vs, struct err *err)
{
	if (has_values(&vs->r->view, 1u << OPERAND_ADDRESS)) {
		err_set(err, ERR_EMPTY, "%s holds addresses, but no values", vs->r->path);
		return err_hint(err,
				"--operand address shows them; `assay record --exact --observe "
				"values -- CMD` records values");
	}
	err_set(err, ERR_EMPTY, "%s holds counts, but no values", vs->r->path);
	return err_hint(err, "`assay record --exact --observe values -- CMD` records them");
}

static int refuse_none(const struct values *vs, struct err *err)
{
	bool exact = vs->r->view.exact;

	if (exact && !has_values(&vs->r->view, vs->operands))
		return refuse_unobserved(vs, err);
	if (!exact && !vs->r->view.counters.windows) {
		err_set(err, ERR_EMPTY, "%s has no windows, so no values", vs->r->path);
		return err_hint(err,
				"`assay info` says why they ended; time in the kernel has none");
	}
	err_set(err, ERR_EMPTY,
		"none of %zu values with a share of at least %g for sure is worth 0.05 %% of "
		"the %s",
		vs->considered, vs->o->min_share, view_whole(&vs->r->view));
	return err_hint(err,
			vs->considered ? "--all shows them"
			: exact	       ? "a lower --min-share shows weaker ones"
				: "a lower --min-share shows weaker ones; so does recording for "
				  "longer");
}

static int find_values(struct values *vs, struct err *err)
{
	if (vs->o->procedure) {
		vs->only = lookup_proc(&vs->r->view, vs->o->procedure, vs->o->image, err);
		if (!vs->only)
			return -1;
	}
	vs->code = calloc(vs->r->view.nproc + 1, sizeof(*vs->code));
	if (!vs->code || collect(vs))
		return err_no_memory(err, "the report");
	measure_best(vs);
	choose(vs);
	return vs->n ? 0 : refuse_none(vs, err);
}

int values_print(struct reading *r, const struct values_options *o, struct err *err)
{
	struct values vs = { .r = r, .o = o, .operands = values_operands(o->operand) };
	int rc = find_values(&vs, err);

	if (!rc)
		print_all(&vs);
	for (size_t i = 0; vs.code && i < r->view.nproc; i++) {
		slice_fini(&vs.code[i].slice);
		listing_fini(&vs.code[i].listing);
	}
	free(vs.code);
	free(vs.v);
	return rc;
}
