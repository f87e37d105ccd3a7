/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "html/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "report/annotate.h"
#include "query/source.h"
#include "report/why.h"

#define ROWS 200    /* instructions that are kept around one with samples in longer procedures */
#define AROUND 4    /* procedures are annotated until they have this share of the time */
#define COVER 0.995 /* most values of an operand that are shown */
#define VALUES 4    /* values of an operand, */
/* values that are addresses are not shown: other runs do not have them again */
#define ADDRESSES 1
#define VALUE_LEAST 0.02 /* least share of a value that is shown */
#define STALL_LEAST 0.1	 /* cycles of an execution */
#define CULPRITS_MOST 3
#define LINES_AROUND 6 /* lines of source kept around those with instructions */
#define LINE_MAX 1000000
#define LISTING_LEAST 8000 /* bytes of a listing, if the page has that much room left for it */
#define SOURCES 0.125	   /* part of the bytes that is kept for sources */

/* Files whose lines instructions are of; which lines. */
struct file {
	char *path;
	bool *used; /* lines that are used, by number; grown as needed */
	size_t n;
	UT_hash_handle hh;
};

struct maker {
	struct reading *r;
	const struct html_options *o;
	struct why why;
	bool has_why;
	struct file *files;
	size_t left; /* a limit in bytes */
};

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void copy(json_t *to, const char *key, const json_t *from, const char *of)
{
	json_t *v = json_object_get(from, of);

	if (v && !json_is_null(v))
		json_object_set(to, key, v);
}

/* Whether that many observations show that the value occurs more than occasionally. */
static bool is_known(const json_t *value)
{
	double share = number(value, "share");

	return share >= VALUE_LEAST && share > number(value, "bound");
}

/* [value, share, bound], the hottest first. NULL: none is worth it. */
static json_t *make_values(const json_t *values, size_t most)
{
	json_t *list = json_array(), *v;
	size_t i;

	json_array_foreach(values, i, v) if (i < most && is_known(v))
		json_array_append_new(list, json_pack("[O,f,f]", json_object_get(v, "value"),
						      number(v, "share"), number(v, "bound")));
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}

static const char *operand_label(const json_t *operand)
{
	const char *reg = json_string_value(json_object_get(operand, "register"));
	const char *name = json_string_value(json_object_get(operand, "operand"));

	return reg ? reg : name;
}

/* [name, share of executions in which it was known, whether it is an address, values] */
static void add_operands(json_t *row, const json_t *operands)
{
	json_t *list = json_array(), *o;
	size_t i;

	json_array_foreach(operands, i, o)
	{
		const char *operand = json_string_value(json_object_get(o, "operand"));
		bool address = operand && !strcmp(operand, "address");
		json_t *values =
			make_values(json_object_get(o, "values"), address ? ADDRESSES : VALUES);

		if (values)
			json_array_append_new(list, json_pack("[s,f,b,o]", operand_label(o),
							      number(o, "known"), address, values));
	}
	if (json_array_size(list))
		json_object_set(row, "v", list);
	json_decref(list);
}

static json_t *or_null(json_t *v)
{
	return v ? v : json_null();
}

/* [culprit, min, max, expected, address at fault or null, address of the store or null] */
static json_t *make_culprit(const json_t *c)
{
	return json_pack("[O,f,f,f,O,O]", json_object_get(c, "culprit"), number(c, "min"),
			 number(c, "max"), number(c, "expected"),
			 or_null(json_object_get(c, "fault")),
			 or_null(json_object_get(c, "store")));
}

/* [cycles, unexplained, culprits] */
static void add_stall(json_t *row, const json_t *dynamic)
{
	json_t *list, *c;
	size_t i;

	if (!dynamic || number(dynamic, "cycles") < STALL_LEAST)
		return;
	list = json_array();
	json_array_foreach(json_object_get(dynamic, "culprits"), i, c)
	{
		if (json_array_size(list) < CULPRITS_MOST)
			json_array_append_new(list, make_culprit(c));
	}
	json_object_set_new(row, "dy",
			    json_pack("[f,f,o]", number(dynamic, "cycles"),
				      number(dynamic, "unexplained"), list));
}

static struct file *file_of(struct maker *m, const char *path, size_t n)
{
	struct file *f;

	HASH_FIND(hh, m->files, path, n, f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f || !(f->path = strndup(path, n))) {
		free(f);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, m->files, f->path, n, f);
	if (!f->hh.tbl) {
		free(f->path);
		free(f);
		return NULL;
	}
	return f;
}

static void use_line(struct maker *m, const char *where)
{
	const char *colon = where ? strrchr(where, ':') : NULL;
	size_t line = colon ? strtoul(colon + 1, NULL, 10) : 0;
	struct file *f =
		line && line < LINE_MAX ? file_of(m, where, (size_t)(colon - where)) : NULL;

	if (!f)
		return;
	if (line >= f->n && !array_widen(f->used, f->n, 2 * line + 64))
		return;
	f->used[line] = true;
}

/* Returns annotate's JSON of an instruction, reduced to what the page shows, with short keys. */
static json_t *make_row(const struct maker *m, const json_t *in)
{
	const char *events = m->r->view.exact ? "executions" : "samples";
	const json_t *taken = json_object_get(in, "taken"), *fixed = json_object_get(in, "static");
	json_t *row = json_object();

	copy(row, "a", in, "address");
	copy(row, "i", in, "instruction");
	copy(row, "l", in, "line");
	if (number(in, "share") > 0)
		copy(row, "s", in, "share");
	if (number(in, events) > 0)
		json_object_set(row, "n", json_object_get(in, events));
	if (json_is_object(taken))
		json_object_set_new(
			row, "t",
			json_pack("[f,f]", number(taken, "share"), number(taken, "bound")));
	copy(row, "e", in, "estimated_executions");
	copy(row, "k", in, "confidence");
	copy(row, "c", in, "cpi");
	copy(row, "ns", in, "ns");
	if (fixed && number(fixed, "cycles") >= STALL_LEAST)
		copy(row, "st", in, "static");
	add_stall(row, json_object_get(in, "dynamic"));
	add_operands(row, json_object_get(in, "operands"));
	return row;
}

/* The rows of a procedure, and which of them the page shows. */
struct rows {
	json_t *row; /* all */
	size_t n, *size;
	bool *shown;
};

static double share_of_row(const struct rows *r, size_t i)
{
	return number(json_array_get(r->row, i), "s");
}

/* Shows the rows near one with more than that share of the time; negative: all rows. Returns the bytes. */
static size_t show_near(struct rows *r, double least)
{
	size_t bytes = 0, until = 0; /* rows before it are near one that was seen */

	memset(r->shown, 0, r->n * sizeof(*r->shown));
	for (size_t i = 0; i < r->n; i++) {
		if (!(share_of_row(r, i) > least))
			continue;
		for (size_t k = i > AROUND ? i - AROUND : 0; k < i; k++)
			r->shown[k] = true;
		until = i + AROUND + 1;
		for (size_t k = i; k < until && k < r->n; k++)
			r->shown[k] = true;
	}
	for (size_t i = 0; i < r->n; i++) {
		r->shown[i] |= least < 0;
		bytes += r->shown[i] ? r->size[i] : 0;
	}
	return bytes;
}

/* Returns the smallest share above that one; more than any share if there is none. */
static double next_share(const struct rows *r, double above)
{
	double next = 2;

	for (size_t i = 0; i < r->n; i++) {
		double share = share_of_row(r, i);

		if (share > above && share < next)
			next = share;
	}
	return next;
}

/* Leaves the coldest rows out until the others fit. Returns their bytes. */
static size_t fit_rows(struct rows *r, size_t room)
{
	double least = r->n <= ROWS ? -1 : 0;
	size_t bytes = show_near(r, least);

	while (bytes > room && least < 2) {
		least = next_share(r, fmax(0, 1.2 * least));
		bytes = show_near(r, least);
	}
	return bytes;
}

static bool rows_init(struct rows *r, const struct maker *m, const json_t *tree)
{
	const json_t *in = json_object_get(tree, "instructions");

	*r = (struct rows){ .row = json_array(), .n = json_array_size(in) };
	r->size = calloc(r->n + 1, sizeof(*r->size));
	r->shown = calloc(r->n + 1, sizeof(*r->shown));
	for (size_t i = 0; i < r->n && r->size && r->shown; i++) {
		json_t *row = make_row(m, json_array_get(in, i));

		json_array_append_new(r->row, row);
		r->size[i] = html_json_size(row, true) + 1;
	}
	return r->size && r->shown;
}

static void rows_fini(struct rows *r)
{
	json_decref(r->row);
	free(r->size);
	free(r->shown);
}

/* Takes the rows that are shown, and notes their lines of source. Sets how many are not. */
static json_t *take_rows(struct maker *m, const struct rows *r, size_t *left_out)
{
	json_t *list = json_array();

	*left_out = 0;
	for (size_t i = 0; i < r->n; i++) {
		json_t *row = json_array_get(r->row, i);

		if (r->shown[i]) {
			json_array_append(list, row);
			use_line(m, json_string_value(json_object_get(row, "l")));
		} else {
			++*left_out;
		}
	}
	return list;
}

static json_t *make_head(const struct maker *m, const json_t *tree)
{
	json_t *l = json_object();

	copy(l, "name", tree, "procedure");
	copy(l, "image", tree, "image");
	copy(l, "from", tree, "from");
	copy(l, "share", tree, "share");
	json_object_set_new(l, "count",
			    json_real(number(tree, m->r->view.exact ? "executions" : "samples")));
	if (json_object_get(tree, "why")) {
		json_t *why = json_copy(json_object_get(tree, "why"));

		json_object_del(why, "culprits");
		json_object_set_new(l, "why", why);
	}
	return l;
}

/* NULL: it does not fit, or there is no memory. */
static json_t *make_listing(struct maker *m, const json_t *tree, size_t room)
{
	json_t *l = make_head(m, tree), *shown;
	size_t bytes = html_json_size(l, true), left_out;
	struct rows rows;
	bool fits = rows_init(&rows, m, tree);

	if (fits)
		bytes += fit_rows(&rows, room > bytes ? room - bytes : 0);
	fits = fits && bytes <= room;
	if (fits) {
		shown = take_rows(m, &rows, &left_out);
		json_object_set_new(l, "cut", json_integer((json_int_t)left_out));
		json_object_set_new(l, "rows", shown);
		m->left -= bytes < m->left ? bytes : m->left;
	}
	rows_fini(&rows);
	if (fits)
		return l;
	json_decref(l);
	return NULL;
}

/* Source. */

static bool is_used(const struct file *f, size_t line)
{
	size_t from = line > LINES_AROUND ? line - LINES_AROUND : 1;

	for (size_t k = from; k < f->n && k <= line + LINES_AROUND; k++)
		if (f->used[k])
			return true;
	return false;
}

/* Stretches: [first line, [texts]]. NULL: the file cannot be read. */
static json_t *make_source(const struct file *f, struct source *s)
{
	json_t *stretches = json_array(), *texts = NULL;
	char text[1024];
	bool any = false;

	for (size_t line = 1; line < f->n + LINES_AROUND; line++) {
		if (!is_used(f, line) || !source_text(s, f->path, (int)line, text, sizeof(text))) {
			texts = NULL;
			continue;
		}
		any = true;
		if (!texts) {
			texts = json_array();
			json_array_append_new(stretches, json_pack("[i,o]", (int)line, texts));
		}
		json_array_append_new(texts, emit_text_json(text));
	}
	if (any)
		return stretches;
	json_decref(stretches);
	return NULL;
}

/* Reads the files that are needed first, as many as fit. */
static void add_sources(struct maker *m, struct html_listings *l)
{
	struct source s;
	struct file *f, *next;

	l->sources = json_object();
	source_init(&s);
	HASH_ITER (hh, m->files, f, next) {
		json_t *one = make_source(f, &s), *key = emit_text_json(f->path);
		size_t bytes =
			one ? html_json_size(one, false) + html_json_size(key, false) + 2 : 0;

		if (one && bytes <= m->left) {
			json_object_set(l->sources, json_string_value(key), one);
			m->left -= bytes;
		} else if (one) {
			l->unread++;
		}
		json_decref(one);
		json_decref(key);
	}
	source_fini(&s);
}

static void free_files(struct maker *m)
{
	struct file *f, *next;

	HASH_ITER (hh, m->files, f, next) {
		HASH_DEL(m->files, f);
		free(f->path);
		free(f->used);
		free(f);
	}
}

/* The procedures that are to be annotated: those with most of the time. Sets the time that they have together. */
static size_t chosen(const struct maker *m, const uint32_t *order, double *time)
{
	const struct view *v = &m->r->view;
	size_t n = 0;

	*time = 0;
	for (; n < v->nproc && n < m->o->procedures; n++) {
		const struct view_proc *p = &v->proc[order[n]];

		if (!view_sum_count(v, &p->sum) || *time >= v->sum.time * COVER)
			break;
		*time += p->sum.time;
	}
	return n;
}

/* Room for a procedure's listing: a part of what is left, in proportion to its time. */
static size_t room_for(const struct maker *m, double time, double of)
{
	double room = of > 0 ? (double)m->left * fmin(1, time / of) : 0;

	return (size_t)fmin((double)m->left, fmax(LISTING_LEAST, room));
}

static int add_listings(struct maker *m, const uint32_t *order, struct html_listings *l,
			struct err *err)
{
	const struct view *v = &m->r->view;
	double of;
	size_t n = chosen(m, order, &of);

	for (size_t i = 0; i < n; i++) {
		const struct view_proc *p = &v->proc[order[i]];
		size_t room = room_for(m, p->sum.time, of);
		json_t *tree, *listing;

		of -= p->sum.time;
		if (!p->n)
			continue;
		if (m->o->progress)
			m->o->progress("annotating procedures", i, n);
		tree = room ? annotate_tree(m->r, p, m->has_why ? &m->why : NULL, err) : NULL;
		if (room && !tree)
			return -1;
		listing = tree ? make_listing(m, tree, room) : NULL;
		if (listing)
			json_array_append_new(l->list, listing);
		else
			l->left_out++;
		json_decref(tree);
	}
	return 0;
}

int html_listings_make(struct html_listings *l, struct reading *r, const struct html_options *o,
		       const uint32_t *order, size_t bytes, struct err *err)
{
	size_t sources = (size_t)(SOURCES * (double)bytes);
	struct maker m = { .r = r, .o = o, .left = bytes - sources };
	int rc;

	*l = (struct html_listings){ .list = json_array() };
	m.has_why = !r->view.exact;
	if (m.has_why && o->progress)
		o->progress("finding out what time was spent on", 0, 1);
	if (m.has_why && why_make(&m.why, r, false, err))
		return -1;
	rc = add_listings(&m, order, l, err);
	m.left += sources;
	add_sources(&m, l);
	why_fini(&m.why);
	free_files(&m);
	return rc;
}

void html_listings_fini(struct html_listings *l)
{
	json_decref(l->list);
	json_decref(l->sources);
}
