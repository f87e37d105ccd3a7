/* SPDX-License-Identifier: MIT */
#include "report/children.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "report/call_tree.h"

struct children {
	struct reading *r;
	const struct children_options *o;
	struct call_names names;
	struct call_tree tree;
	struct row {
		uint32_t proc;
		double self, all;
		uint64_t samples;
	} * row;
	size_t n;
	double whole; /* time that shares are of */
};

enum {
	COLUMN_ALL,
	COLUMN_SELF,
	COLUMN_SAMPLES,
	COLUMN_IMAGE,
	COLUMN_PROCEDURE,
	COLUMN_N
};

static const struct column columns[COLUMN_N] = {
	[COLUMN_ALL] = { "children", "children", "%", 10, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_SELF] = { "self", "self", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_SAMPLES] = { "samples", "samples", NULL, 10, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_IMAGE] = { "image", "image", NULL, 16, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_PROCEDURE] = { "procedure", "procedure", NULL, 0, EMIT_LEFT_NAME, EMIT_TEXT },
};

static const struct term terms[] = {
	{ "children",
	  "share of the time in the procedure and in all that it called; a procedure that calls "
	  "itself counts once" },
	{ "self", "share of the time in the procedure itself" },
	{ "[...]", "why stacks end: [root] is a whole stack, all else says why it is cut" },
	{ NULL, NULL },
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_FAILED, "no memory for the call stacks");
}

static int most_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->all != y->all)
		return x->all > y->all ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->proc < y->proc ? -1 : 1;
}

/* Whether a node above is of the same procedure. */
static bool is_inner(const struct call_tree *t, uint32_t node)
{
	uint32_t proc = t->node[node].proc;

	while ((node = t->node[node].parent))
		if (t->node[node].proc == proc)
			return true;
	return false;
}

static void add(struct children *c, uint32_t proc, double self, double all, uint64_t samples)
{
	struct row *row = &c->row[proc];

	row->self += self;
	row->all += all;
	row->samples += samples;
}

static void collect_all(struct children *c)
{
	for (uint32_t i = 1; i < c->tree.n; i++) {
		const struct call_node *n = &c->tree.node[i];
		bool inner = is_inner(&c->tree, i);

		add(c, n->proc, n->self, inner ? 0 : n->all, inner ? 0 : n->all_count);
	}
	c->whole = c->tree.n ? c->tree.node[0].all : 0;
}

static bool matches(const struct children *c, uint32_t proc, const char *pattern)
{
	return !fnmatch(pattern, c->names.proc[proc].name, 0);
}

/* Callers of the outermost frames of the procedure, by the time below those frames. */
static void collect_callers(struct children *c)
{
	for (uint32_t i = 1; i < c->tree.n; i++) {
		const struct call_node *n = &c->tree.node[i];

		if (!matches(c, n->proc, c->o->callers) || is_inner(&c->tree, i))
			continue;
		c->whole += n->all;
		if (n->parent)
			add(c, c->tree.node[n->parent].proc, 0, n->all, n->all_count);
	}
}

/* What the procedure calls, by the time there, and its own. Frames of a recursion belong to the outermost one. */
static void collect_callees(struct children *c)
{
	for (uint32_t i = 1; i < c->tree.n; i++) {
		const struct call_node *n = &c->tree.node[i];
		const struct call_node *parent = n->parent ? &c->tree.node[n->parent] : NULL;
		bool own = matches(c, n->proc, c->o->callees);

		if (own) {
			add(c, n->proc, n->self, n->self, n->self_count);
			c->whole += is_inner(&c->tree, i) ? 0 : n->all;
		} else if (parent && matches(c, parent->proc, c->o->callees) &&
			   !is_inner(&c->tree, i)) {
			add(c, n->proc, 0, n->all, n->all_count);
		}
	}
}

static int keep_rows(struct children *c)
{
	size_t k = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->row[i].samples || c->row[i].self > 0)
			c->row[k++] = c->row[i];
	c->n = k;
	qsort(c->row, c->n, sizeof(*c->row), most_first);
	return 0;
}

static double share(const struct children *c, double time)
{
	return c->whole > 0 ? time / c->whole : 0;
}

static void print_row(const struct children *c, const struct row *row)
{
	const struct call_proc *p = &c->names.proc[row->proc];
	bool is_end = frame_is_end(p->kind);
	struct cell cell[COLUMN_N] = {
		[COLUMN_ALL] = { .known = true, .real = share(c, row->all) },
		[COLUMN_SELF] = { .known = true, .real = share(c, row->self) },
		[COLUMN_SAMPLES] = { .known = true, .count = row->samples },
		[COLUMN_IMAGE] = { .known = true,
				   .text = is_end ? "" : c->r->view.image[p->image].name },
		[COLUMN_PROCEDURE] = { .known = true, .text = p->name },
	};

	emit_row(&c->r->emit, cell);
}

static void print_table(struct children *c, const char *key)
{
	size_t shown = c->o->n && c->o->n < c->n ? c->o->n : c->n;
	struct column own[COLUMN_N];
	char count[32];

	memcpy(own, columns, sizeof(own));
	if (c->o->callers)
		own[COLUMN_SELF].header = own[COLUMN_SELF].key = NULL;
	if (c->o->callers || c->o->callees)
		own[COLUMN_ALL].header = "share";
	emit_table(&c->r->emit, key, own, COLUMN_N);
	for (size_t i = 0; i < shown; i++)
		print_row(c, &c->row[i]);
	if (shown < c->n)
		emit_footer(&c->r->emit, "%s more: -n 0 shows all",
			    fmt_count(c->n - shown, count, sizeof(count)));
}

static int none(const struct children *c, const char *name, struct err *err)
{
	err_set(err, ERR_EMPTY, "no call stack of %s has a procedure '%s'", c->r->path, name);
	return err_hint(err, "`assay report --children` lists them");
}

static int print(struct children *c, struct err *err)
{
	const char *of = c->o->callers ? c->o->callers : c->o->callees;

	c->n = c->names.n;
	c->row = calloc(c->n + 1, sizeof(*c->row));
	if (!c->row)
		return no_memory(err);
	for (uint32_t i = 0; i < c->n; i++)
		c->row[i].proc = i;
	if (c->o->callers)
		collect_callers(c);
	else if (c->o->callees)
		collect_callees(c);
	else
		collect_all(c);
	if (of && !(c->whole > 0))
		return none(c, of, err);
	keep_rows(c);
	reading_heading(c->r);
	if (of)
		emit_line(&c->r->emit, "%s %s, per cent of its time with all that it calls:",
			  c->o->callers ? "who calls" : "what is called by", of);
	print_table(c, c->o->callers ? "callers" : c->o->callees ? "callees" : "procedures");
	emit_line(&c->r->emit, "%s", "");
	if (!of)
		emit_footer(&c->r->emit,
			    "Closer: --callers PROCEDURE, --callees PROCEDURE, `assay html`.");
	emit_terms(&c->r->emit, terms);
	return 0;
}

int children_print(struct reading *r, const struct children_options *o, struct err *err)
{
	struct stack_filter filter = { .from = (uint64_t)(o->from * 1e9),
				       .to = (uint64_t)(o->to * 1e9) };
	struct children c = { .r = r, .o = o };
	int rc;

	if (!r->profile.stacks.nsample) {
		err_set(err, ERR_EMPTY, "%s has no call stacks", r->path);
		return err_hint(err, "`assay record -g` records them");
	}
	if (call_names_init(&c.names, &r->profile, &r->binaries, err))
		return -1;
	rc = call_tree_build(&c.tree, &c.names, &r->profile.stacks, &filter, CALL_TREE_DOWN, err);
	if (!rc) {
		rc = print(&c, err);
		call_tree_fini(&c.tree);
	}
	free(c.row);
	call_names_fini(&c.names);
	return rc;
}
