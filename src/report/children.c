/* SPDX-License-Identifier: MIT */
#include "report/children.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "report/calltree.h"

struct children {
	struct reading *r;
	const struct children_options *o;
	struct calltree tree;
	struct stack_sum *sum;	      /* by node */
	struct calltree_total *total; /* by procedure */
	struct row {
		uint32_t func;
		const struct calltree_total *total;
	} * row;
	size_t n;
	double whole; /* time that shares refer to */
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
	{ "--callers", "of a recursion: those who called its outermost frame" },
	{ "--callees", "with the procedure itself, for the time that is its own" },
	{ "(inlined)", "the compiler has put the procedure into its caller, by debug information" },
	{ "[...]", "why stacks end: [root] is a whole stack, all else says why it is cut" },
	{ NULL, NULL },
};

static int most_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->total->all != y->total->all)
		return x->total->all > y->total->all ? -1 : 1;
	if (x->total->self != y->total->self)
		return x->total->self > y->total->self ? -1 : 1;
	return x->func < y->func ? -1 : 1;
}

static void add(struct children *c, uint32_t node, double self, double all, uint64_t samples)
{
	struct calltree_total *to = &c->total[calltree_func_of(&c->tree, node)];

	to->self += self;
	to->all += all;
	to->all_count += samples;
}

static bool matches(const struct children *c, uint32_t node, const char *pattern)
{
	return node && calltree_is_named(&c->tree, calltree_func_of(&c->tree, node), pattern);
}

/* Callers of the outermost frames of the procedure, by the time below those frames. */
static void collect_callers(struct children *c)
{
	for (uint32_t i = 1; i < c->tree.nnode; i++) {
		const struct stack_sum *n = &c->sum[i];
		uint32_t parent = c->tree.node[i].parent;

		if (!n->all_count || !matches(c, i, c->o->callers) ||
		    calltree_is_inner(&c->tree, i))
			continue;
		c->whole += n->all;
		if (parent)
			add(c, parent, 0, n->all, n->all_count);
	}
}

/* Sums the procedures that the procedure calls, by the time in them, and its own time. Frames of a
 * recursion belong to the outermost one. */
static void collect_callees(struct children *c)
{
	for (uint32_t i = 1; i < c->tree.nnode; i++) {
		const struct stack_sum *n = &c->sum[i];
		uint32_t parent = c->tree.node[i].parent;

		if (!n->all_count)
			continue;
		if (matches(c, i, c->o->callees)) {
			add(c, i, n->self, n->self, n->self_count);
			c->whole += calltree_is_inner(&c->tree, i) ? 0 : n->all;
		} else if (matches(c, parent, c->o->callees) && !calltree_is_inner(&c->tree, i)) {
			add(c, i, 0, n->all, n->all_count);
		}
	}
}

/* Rows of procedures that have time, most first. */
static int make_rows(struct children *c)
{
	size_t n = c->tree.nfunc + 1;

	c->row = calloc(n, sizeof(*c->row));
	if (!c->row)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		if (c->total[i].all_count || c->total[i].self > 0)
			c->row[c->n++] = (struct row){ i, &c->total[i] };
	qsort(c->row, c->n, sizeof(*c->row), most_first);
	return 0;
}

static double share(const struct children *c, double time)
{
	return c->whole > 0 ? time / c->whole : 0;
}

/* "" if the row is no procedure, but says how stacks end. */
static const char *image_of(const struct children *c, uint32_t func)
{
	if (func == c->tree.nfunc || c->tree.func[func].is_end)
		return "";
	return calltree_image(&c->tree, c->tree.func[func].image);
}

static void print_row(const struct children *c, const struct row *row)
{
	struct cell cell[COLUMN_N] = {
		[COLUMN_ALL] = cell_real(share(c, row->total->all)),
		[COLUMN_SELF] = cell_real(share(c, row->total->self)),
		[COLUMN_SAMPLES] = cell_count(row->total->all_count),
		[COLUMN_IMAGE] = cell_text(image_of(c, row->func)),
		[COLUMN_PROCEDURE] = cell_text(calltree_name(&c->tree, row->func)),
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
		own[COLUMN_SELF].key = NULL;
	if (c->o->callers || c->o->callees) {
		own[COLUMN_ALL].header = "share";
		own[COLUMN_SELF].header =
			NULL; /* only the asked procedure has time of its own here */
	}
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

/* Computes the requested sums. -1 without memory. */
static int collect(struct children *c)
{
	if (!c->o->callers && !c->o->callees) {
		c->total = calltree_totals(&c->tree, c->sum);
		c->whole = c->sum[0].all;
		return c->total ? 0 : -1;
	}
	c->total = calloc(c->tree.nfunc + 1, sizeof(*c->total));
	if (!c->total)
		return -1;
	if (c->o->callers)
		collect_callers(c);
	else
		collect_callees(c);
	return 0;
}

static int print(struct children *c, const struct stack_filter *filter, struct err *err)
{
	const char *of = c->o->callers ? c->o->callers : c->o->callees;

	c->sum = calltree_sum(&c->tree, filter);
	if (!c->sum || collect(c) || make_rows(c))
		return err_no_memory(err, "the call stacks");
	if (of && !(c->whole > 0))
		return none(c, of, err);
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
		return err_hint(err, STACKS_REMEDY);
	}
	if (calltree_open_as(&c.tree, &r->profile, !o->no_inline, err))
		return -1;
	rc = print(&c, &filter, err);
	free(c.row);
	free(c.total);
	free(c.sum);
	calltree_close(&c.tree);
	return rc;
}
