/* SPDX-License-Identifier: MIT */
#include "html/diff_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html/html.h"

/* Nodes seen from the ends of stacks are followed further only if they have that part of the time of both sides. */
#define FOLLOWED 5e-5

struct diff_node {
	uint32_t key[2]; /* parent, func */
	uint32_t number;
	UT_hash_handle hh;
};

/* Procedures. */

static int kind_of(const struct calltree *t, const struct calltree_func *f)
{
	if (f->is_end)
		return HTML_END;
	if (f->inlined)
		return HTML_INLINED;
	return t->profile->image[f->image]->kind == IMAGE_KERNEL ? HTML_KERNEL : HTML_USER;
}

/* Procedures of stripped files have the same name only in the same build. */
static char *func_key(const struct calltree *t, const struct calltree_func *f)
{
	const struct profile_image *pi = t->profile->image[f->image];
	char *key;

	if (asprintf(&key, "%s\n%s\n%s", f->is_end ? "" : calltree_image(t, f->image),
		     !f->is_end && pi->stripped ? pi->build_id : "", f->name) < 0)
		return NULL;
	return key;
}

/* The procedure's number in both sides' common list, or negative without memory. */
static long func_number(struct diff_graph *g, const struct calltree *t,
			const struct calltree_func *f)
{
	char *key = func_key(t, f);
	struct diff_func *known;

	if (!key)
		return -1;
	HASH_FIND_STR(g->by_key, key, known);
	if (known) {
		free(key);
		return known->number;
	}
	known = calloc(1, sizeof(*known));
	if (!known) {
		free(key);
		return -1;
	}
	known->key = key;
	known->name = strdup(f->name);
	known->image = strdup(f->is_end ? "" : calltree_image(t, f->image));
	known->kind = kind_of(t, f);
	known->number = (uint32_t)g->nfunc;
	HASH_ADD_KEYPTR(hh, g->by_key, key, strlen(key), known);
	if (!known->hh.tbl) {
		free(known->name);
		free(known->image);
		free(known);
		free(key);
		return -1;
	}
	g->nfunc++;
	return known->name && known->image ? (long)known->number : -1;
}

/* Trees. */

static size_t recordings_of(const struct diff_graph *g)
{
	return g->side[0].n + g->side[1].n;
}

static bool widen(void **array, size_t n, size_t size)
{
	void *more = reallocarray(*array, n, size);

	if (more)
		*array = more;
	return more;
}

static bool tree_grow(struct diff_tree *t, size_t recordings)
{
	size_t room = t->room ? 2 * t->room : 1024;

	if (!widen((void **)&t->parent, room, sizeof(*t->parent)) ||
	    !widen((void **)&t->func, room, sizeof(*t->func)) ||
	    !widen((void **)&t->a, room, sizeof(*t->a)) ||
	    !widen((void **)&t->each, room * recordings, sizeof(*t->each)))
		return false;
	t->room = room;
	return true;
}

/* The node of that procedure below `parent`, made if new; negative without memory. */
static long tree_node(struct diff_tree *t, size_t recordings, uint32_t parent, uint32_t func)
{
	struct diff_node *node, wanted = { 0 };

	wanted.key[0] = parent;
	wanted.key[1] = func;
	HASH_FIND(hh, t->known, wanted.key, sizeof(wanted.key), node);
	if (node)
		return node->number;
	node = malloc(sizeof(*node));
	if (!node || (t->n == t->room && !tree_grow(t, recordings))) {
		free(node);
		return -1;
	}
	*node = wanted;
	node->number = (uint32_t)t->n;
	t->parent[t->n] = parent;
	t->func[t->n] = func;
	t->a[t->n] = (struct diff_amounts){ 0 };
	memset(&t->each[t->n * recordings], 0, recordings * sizeof(*t->each));
	HASH_ADD(hh, t->known, key, sizeof(node->key), node);
	if (!node->hh.tbl) {
		free(node);
		return -1;
	}
	return (long)t->n++;
}

static bool tree_init(struct diff_tree *t, size_t recordings)
{
	return tree_node(t, recordings, UINT32_MAX, UINT32_MAX) == 0;
}

static void tree_fini(struct diff_tree *t)
{
	struct diff_node *node, *next;

	HASH_ITER (hh, t->known, node, next) {
		HASH_DEL(t->known, node);
		free(node);
	}
	free(t->parent);
	free(t->func);
	free(t->a);
	free(t->each);
}

static void add(struct diff_tree *to, size_t node, const struct diff_tree *from, size_t other,
		size_t recordings)
{
	for (int i = 0; i < 2; i++) {
		to->a[node].count[i] += from->a[other].count[i];
		to->a[node].mean[i] += from->a[other].mean[i];
	}
	for (size_t k = 0; k < recordings; k++)
		to->each[node * recordings + k] += from->each[other * recordings + k];
}

static double weight(const struct diff_tree *t, size_t node)
{
	return t->a[node].mean[0] + t->a[node].mean[1];
}

/* Recordings. */

/* Shares of the view's time and of executions need no unit; what has none of its own counts samples. */
static double weight_of(const struct reading *r, const struct stack_sample *s)
{
	return r->view.exact || r->view.by_samples ? s->count : s->time;
}

/* Whether the sample ended in an image that is asked for. */
static bool is_wanted(const struct diff_graph *g, const struct calltree *t, const struct reading *r,
		      const struct stack_sample *s)
{
	uint32_t place = t->node[s->frame].place;

	return !g->image || (place != CALLTREE_NOWHERE &&
			     view_image_matches(&r->view, t->place[place].image, g->image));
}

static void add_samples(struct diff_graph *g, const struct calltree *t, int which, size_t at,
			const uint32_t *node)
{
	const struct diff_side *side = &g->side[which];
	const struct reading *r = &side->reading[at];
	size_t recordings = recordings_of(g), number = which ? g->side[0].n + at : at;
	double all = 0, unit;

	for (size_t i = 0; i < t->nsample; i++)
		all += weight_of(r, &t->sample[i]);
	unit = all > 0 ? g->rows->total_each[which][at] / all : 0;
	for (size_t i = 0; i < t->nsample; i++) {
		const struct stack_sample *s = &t->sample[i];
		double amount = weight_of(r, s) * unit;
		struct diff_amounts *a = &g->forward.a[node[s->frame]];

		if (!is_wanted(g, t, r, s))
			continue;
		a->count[which] += s->count;
		a->mean[which] += amount / (double)side->n;
		g->forward.each[node[s->frame] * recordings + number] += amount;
	}
}

/* node[]: by node of the call tree, that of both sides' tree; func[]: by procedure. */
static int map_nodes(struct diff_graph *g, const struct calltree *t, const uint32_t *func,
		     uint32_t *node)
{
	node[0] = 0;
	for (size_t i = 1; i < t->nnode; i++) {
		long number = node[t->node[i].parent];

		if (t->node[i].place != CALLTREE_NOWHERE)
			number = tree_node(&g->forward, recordings_of(g), (uint32_t)number,
					   func[t->place[t->node[i].place].func]);
		if (number < 0)
			return -1;
		node[i] = (uint32_t)number;
	}
	return 0;
}

static int add_tree(struct diff_graph *g, const struct calltree *t, int which, size_t at)
{
	uint32_t *func = malloc((t->nfunc + 1) * sizeof(*func));
	uint32_t *node = malloc(t->nnode * sizeof(*node));
	int rc = func && node ? 0 : -1;

	for (size_t i = 0; i < t->nfunc && !rc; i++) {
		long number = func_number(g, t, &t->func[i]);

		rc = number < 0 ? -1 : 0;
		func[i] = (uint32_t)number;
	}
	if (!rc)
		rc = map_nodes(g, t, func, node);
	if (!rc)
		add_samples(g, t, which, at, node);
	free(func);
	free(node);
	return rc;
}

static int add_recording(struct diff_graph *g, int which, size_t at, struct err *err)
{
	struct calltree t;
	int rc = 0;

	if (calltree_open(&t, &g->side[which].reading[at].profile, err))
		return -1;
	g->flat |= t.flat;
	if (!g->flat && add_tree(g, &t, which, at))
		rc = err_no_memory(err, "the call stacks of both sides");
	calltree_close(&t);
	return rc;
}

/* The graph from the ends of stacks. */

/* A node at which stacks ended, and how far its stacks have been followed towards their beginning. */
struct end {
	uint32_t node, at; /* nodes of the forward tree */
	uint32_t seen;	   /* node of the backward tree */
};

/* Goes one step towards the beginnings of stacks; ends with too little time are dropped. Returns
 * how many ends are left, negative without memory. */
static long follow(struct diff_graph *g, struct end *end, size_t n, double least)
{
	size_t recordings = recordings_of(g), left = 0;

	for (size_t i = 0; i < n; i++) {
		long to = tree_node(&g->backward, recordings, end[i].seen,
				    g->forward.func[end[i].at]);

		if (to < 0)
			return -1;
		add(&g->backward, (size_t)to, &g->forward, end[i].node, recordings);
		end[i].seen = (uint32_t)to;
		end[i].at = g->forward.parent[end[i].at];
	}
	for (size_t i = 0; i < n; i++)
		if (end[i].at && weight(&g->backward, end[i].seen) >= least)
			end[left++] = end[i];
	return (long)left;
}

/* At this point a node of the forward tree holds only the stacks that ended in it, without those
 * below it. */
static int make_backward(struct diff_graph *g)
{
	size_t recordings = recordings_of(g);
	struct end *end = malloc((g->forward.n + 1) * sizeof(*end));
	long n = 0;

	if (!end || !tree_init(&g->backward, recordings)) {
		free(end);
		return -1;
	}
	for (uint32_t i = 0; i < g->forward.n; i++) {
		if (!(weight(&g->forward, i) > 0))
			continue;
		add(&g->backward, 0, &g->forward, i, recordings);
		if (i)
			end[n++] = (struct end){ i, i, 0 };
	}
	while (n > 0 && g->backward.n < HTML_NODES)
		n = follow(g, end, (size_t)n, weight(&g->backward, 0) * FOLLOWED);
	free(end);
	return n < 0 ? -1 : 0;
}

static void sum_up(struct diff_tree *t, size_t recordings)
{
	for (size_t i = t->n; i-- > 1;)
		add(t, t->parent[i], t, i, recordings);
}

/* Nodes go that hold nothing, and those that hold least if there are too many. */
static int cut(struct diff_tree *t, size_t recordings)
{
	double *held;
	uint32_t *to = NULL;
	size_t kept, k = 1;

	held = malloc(t->n * sizeof(*held));
	for (size_t i = 0; held && i < t->n; i++)
		held[i] = weight(t, i);
	if (held)
		to = html_cut(held, t->parent, t->n, fmax(0, html_least(held, t->n, HTML_NODES)),
			      &kept);
	free(held);
	if (!to)
		return -1;
	for (size_t i = 1; i < t->n; i++) {
		if (to[i] != k)
			continue;
		t->parent[k] = to[t->parent[i]];
		t->func[k] = t->func[i];
		t->a[k] = t->a[i];
		memmove(&t->each[k * recordings], &t->each[i * recordings],
			recordings * sizeof(*t->each));
		k++;
	}
	t->n = kept;
	free(to);
	return 0;
}

static int judge(struct diff_graph *g, struct diff_tree *t)
{
	size_t recordings = recordings_of(g);
	struct diff_amounts **a = malloc(t->n * sizeof(struct diff_amounts *));
	struct diff_scale scale;
	int rc;

	if (!a)
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		a[i] = &t->a[i];
		t->a[i].each[0] = &t->each[i * recordings];
		t->a[i].each[1] = &t->each[i * recordings + g->side[0].n];
	}
	diff_rows_scale(g->rows, g->side, &scale);
	rc = diff_judge(a, t->n, &scale, NULL);
	free(a);
	return rc;
}

static int list_funcs(struct diff_graph *g)
{
	struct diff_func *f, *next;

	g->func = malloc((g->nfunc + 1) * sizeof(*g->func));
	if (!g->func)
		return -1;
	HASH_ITER (hh, g->by_key, f, next) {
		g->func[f->number] = f;
	}
	return 0;
}

static int make_trees(struct diff_graph *g)
{
	size_t recordings = recordings_of(g);

	if (list_funcs(g))
		return -1;
	if (g->flat)
		return 0;
	if (make_backward(g))
		return -1;
	sum_up(&g->forward, recordings);
	return cut(&g->forward, recordings) || cut(&g->backward, recordings) ||
			       judge(g, &g->forward) || judge(g, &g->backward)
		       ? -1
		       : 0;
}

int diff_graph_open(struct diff_graph *g, const struct diff_rows *rows,
		    const struct diff_side side[2], const char *image, struct err *err)
{
	*g = (struct diff_graph){ .side = side, .rows = rows, .image = image };
	if (!tree_init(&g->forward, recordings_of(g)))
		goto memory;
	for (int which = 0; which < 2; which++)
		for (size_t k = 0; k < side[which].n && !g->flat; k++)
			if (add_recording(g, which, k, err))
				goto fail;
	if (!make_trees(g))
		return 0;
memory:
	err_no_memory(err, "the call stacks of both sides");
fail:
	diff_graph_close(g);
	return -1;
}

void diff_graph_close(struct diff_graph *g)
{
	struct diff_func *f, *next;

	HASH_ITER (hh, g->by_key, f, next) {
		HASH_DEL(g->by_key, f);
		free(f->key);
		free(f->name);
		free(f->image);
		free(f);
	}
	free(g->func);
	tree_fini(&g->forward);
	tree_fini(&g->backward);
	*g = (struct diff_graph){ 0 };
}
