/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "html/html.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "report/annotate.h"
#include "query/source.h"
#include "report/why.h"

#define ROWS 200	 /* longer procedures lose what is far from any sample */
#define AROUND 4	 /* instructions kept around one with samples then */
#define COVER 0.995	 /* of the time is annotated, */
#define VALUES 4	 /* values of an operand, */
#define ADDRESSES 1	 /* where it is an address, which other runs do not have again */
#define VALUE_LEAST 0.02 /* with such a share */
#define STALL_LEAST 0.1	 /* cycles of an execution */
#define CULPRITS_MOST 3
#define LINES_AROUND 6 /* lines of source kept around those with instructions */
#define LINE_MAX 1000000

/* Files whose lines instructions are of; which lines. */
struct file {
	char *path;
	bool *used; /* by line; grown as needed */
	size_t n;
	UT_hash_handle hh;
};

struct maker {
	struct reading *r;
	const struct html_options *o;
	struct why why;
	bool has_why;
	struct file *files;
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

/* [value, share, bound], the hottest first. NULL: none is worth it. */
static json_t *make_values(const json_t *values, size_t most)
{
	json_t *list = json_array(), *v;
	size_t i;

	json_array_foreach(values, i, v) if (i < most && number(v, "share") >= VALUE_LEAST)
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

static void add_operands(json_t *row, const json_t *operands)
{
	json_t *list = json_array(), *o;
	size_t i;

	json_array_foreach(operands, i, o)
	{
		const char *operand = json_string_value(json_object_get(o, "operand"));
		json_t *values =
			make_values(json_object_get(o, "values"),
				    operand && !strcmp(operand, "address") ? ADDRESSES : VALUES);

		if (values)
			json_array_append_new(
				list, json_pack("{s:s,s:O,s:f,s:o}", "name", operand_label(o),
						"operand", json_object_get(o, "operand"), "known",
						number(o, "known"), "values", values));
	}
	if (json_array_size(list))
		json_object_set(row, "v", list);
	json_decref(list);
}

static void add_stall(json_t *row, const json_t *dynamic)
{
	json_t *list, *c, *stall;
	size_t i;

	if (!dynamic || number(dynamic, "cycles") < STALL_LEAST)
		return;
	list = json_array();
	json_array_foreach(json_object_get(dynamic, "culprits"), i, c)
	{
		json_t *one = json_array_size(list) < CULPRITS_MOST ? json_copy(c) : NULL;

		if (one && json_is_null(json_object_get(one, "store")))
			json_object_del(one, "store");
		if (one)
			json_array_append_new(list, one);
	}
	stall = json_pack("{s:f,s:f,s:o}", "cycles", number(dynamic, "cycles"), "unexplained",
			  number(dynamic, "unexplained"), "culprits", list);
	json_object_set_new(row, "dy", stall);
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

/* An instruction as annotate has it, with what the page shows of it, under short keys. */
static json_t *make_row(struct maker *m, const json_t *in)
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
	use_line(m, json_string_value(json_object_get(in, "line")));
	return row;
}

static bool is_near(const json_t *rows, size_t i, size_t n)
{
	size_t from = i > AROUND ? i - AROUND : 0;

	for (size_t k = from; k < n && k <= i + AROUND; k++)
		if (number(json_array_get(rows, k), "share") > 0)
			return true;
	return false;
}

static json_t *make_listing(struct maker *m, const json_t *tree)
{
	const json_t *in = json_object_get(tree, "instructions");
	size_t n = json_array_size(in), left_out = 0;
	json_t *l = json_object(), *rows = json_array();

	for (size_t i = 0; i < n; i++) {
		if (n <= ROWS || is_near(in, i, n))
			json_array_append_new(rows, make_row(m, json_array_get(in, i)));
		else
			left_out++;
	}
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
	json_object_set_new(l, "cut", json_integer((json_int_t)left_out));
	json_object_set_new(l, "rows", rows);
	return l;
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

static json_t *make_sources(struct maker *m)
{
	json_t *sources = json_object();
	struct source s;
	struct file *f, *next;

	source_init(&s);
	HASH_ITER (hh, m->files, f, next) {
		json_t *one = make_source(f, &s), *key = emit_text_json(f->path);

		if (one)
			json_object_set_new(sources, json_string_value(key), one);
		json_decref(key);
	}
	source_fini(&s);
	return sources;
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

static int add_listings(struct maker *m, const uint32_t *order, json_t *listings, struct err *err)
{
	const struct view *v = &m->r->view;
	double left = v->sum.time * (1 - COVER);
	double shown = 0;

	for (size_t i = 0; i < v->nproc && i < m->o->procedures; i++) {
		const struct view_proc *p = &v->proc[order[i]];
		json_t *tree;

		if (!view_sum_count(v, &p->sum) || v->sum.time - shown <= left)
			break;
		shown += p->sum.time;
		if (!p->n)
			continue;
		if (m->o->progress)
			m->o->progress("annotating procedures", i, m->o->procedures);
		tree = annotate_tree(m->r, p, m->has_why ? &m->why : NULL, err);
		if (!tree)
			return -1;
		json_array_append_new(listings, make_listing(m, tree));
		json_decref(tree);
	}
	return 0;
}

int html_listings(struct reading *r, const struct html_options *o, const uint32_t *order,
		  json_t **listings, json_t **sources, struct err *err)
{
	struct maker m = { .r = r, .o = o };
	int rc;

	*listings = json_array();
	*sources = NULL;
	m.has_why = !r->view.exact;
	if (m.has_why && o->progress)
		o->progress("finding out what time was spent on", 0, 1);
	if (m.has_why && why_make(&m.why, r, false, err))
		return -1;
	rc = add_listings(&m, order, *listings, err);
	*sources = make_sources(&m);
	why_fini(&m.why);
	free_files(&m);
	return rc;
}
