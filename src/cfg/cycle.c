/* SPDX-License-Identifier: MIT */
/*
 * Cycle equivalence by brackets. A depth-first walk divides the graph into tree edges and back
 * edges. The brackets of a tree edge are the back edges from below it to above it. Two tree edges
 * are equivalent if they have the same brackets; a tree edge and a back edge are equivalent if that
 * is its only bracket. Sets of brackets are lists that are joined from the leaves up; a list is
 * identified by its size and the edge pushed last. Where the lists of several children meet, a
 * capping edge is pushed, so that size and last edge still identify the set.
 */
#include "cfg/cycle.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

#define NONE UINT32_MAX

/* A back edge, real (by its number) or capping (numbered from the number of edges on). */
struct bracket {
	uint32_t up, down; /* neighbours in its list; `up` is nearer the top */
	uint32_t recent_size, recent_class;
};

struct list {
	uint32_t top, bottom, size;
};

struct node {
	uint32_t number;      /* number in the order of the walk; NONE: not reached */
	uint32_t parent_edge; /* edge to the parent; NONE: the root */
	uint32_t parent;
	uint32_t
		hi; /* the smallest number that a back edge from this node or from below leads to */
	uint32_t hi_child, hi_second; /* the smallest two values of `hi` among the children */
	/* first capping edge that ends here; a list linked by cap_next */
	uint32_t capping;
	struct list list;
};

struct cycle {
	const struct cycle_edge *edge;
	uint32_t nnodes, nedges;
	uint32_t *first, *adjacent; /* edges at node v: adjacent[first[v] .. first[v + 1]) */
	struct node *node;
	uint32_t *order; /* nodes in the order of their numbers */
	uint32_t reached;
	/* brackets of edges, then of capping edges: at most one for each node */
	struct bracket *bracket;
	uint32_t *cap_next; /* by the node that the capping edge comes from */
	uint32_t *cls;
	uint32_t nclasses;
};

static uint32_t new_class(struct cycle *c)
{
	return c->nclasses++;
}

static uint32_t other_end(const struct cycle_edge *e, uint32_t v)
{
	invariant(e->a == v || e->b == v);
	return e->a == v ? e->b : e->a;
}

/* Lists of brackets. */

static void push(struct cycle *c, struct list *l, uint32_t b)
{
	invariant(b < c->nedges + c->nnodes);
	c->bracket[b] = (struct bracket){ NONE, l->top, NONE, NONE };
	if (l->size)
		c->bracket[l->top].up = b;
	else
		l->bottom = b;
	l->top = b;
	l->size++;
}

static void drop(struct cycle *c, struct list *l, uint32_t b)
{
	const struct bracket *x = &c->bracket[b];

	assert(l->size);
	if (x->up != NONE)
		c->bracket[x->up].down = x->down;
	else
		l->top = x->down;
	if (x->down != NONE)
		c->bracket[x->down].up = x->up;
	else
		l->bottom = x->up;
	l->size--;
	invariant(!l->size ||
		  (c->bracket[l->top].up == NONE && c->bracket[l->bottom].down == NONE));
}

/* Joins both lists to `to`, with the brackets of `from` on top. */
static void join(struct cycle *c, struct list *to, const struct list *from)
{
	if (!from->size)
		return;
	if (!to->size) {
		*to = *from;
		return;
	}
	invariant(c->bracket[to->top].up == NONE && c->bracket[from->bottom].down == NONE);
	c->bracket[to->top].up = from->bottom;
	c->bracket[from->bottom].down = to->top;
	to->top = from->top;
	to->size += from->size;
}

/* The depth-first walk. */

static void make_adjacent(struct cycle *c)
{
	/* filled from the end, each entry becomes the start of its node's edges */
	uint32_t *end = c->first + 1;

	for (uint32_t e = 0; e < c->nedges; e++) {
		end[c->edge[e].a]++;
		if (c->edge[e].a != c->edge[e].b)
			end[c->edge[e].b]++;
	}
	for (uint32_t v = 1; v <= c->nnodes; v++)
		end[v] += end[v - 1];
	for (uint32_t e = c->nedges; e-- > 0;) {
		c->adjacent[--end[c->edge[e].a]] = e;
		if (c->edge[e].a != c->edge[e].b)
			c->adjacent[--end[c->edge[e].b]] = e;
	}
	memmove(c->first, end, (c->nnodes + 1) * sizeof(*end));
	invariant(!c->first[0] && c->first[c->nnodes] <= 2 * c->nedges);
}

static void enter(struct cycle *c, uint32_t v, uint32_t parent, uint32_t edge)
{
	invariant(c->node[v].number == NONE && c->reached < c->nnodes);
	c->node[v].number = c->reached;
	c->node[v].parent = parent;
	c->node[v].parent_edge = edge;
	c->order[c->reached++] = v;
}

/* at[v]: the next of v's edges to look at. */
static void walk(struct cycle *c, uint32_t *at, const uint32_t *end)
{
	uint32_t v = 0;

	enter(c, 0, NONE, NONE);
	for (;;) {
		uint32_t e, w;

		if (at[v] == end[v]) {
			v = c->node[v].parent;
			if (v == NONE)
				return;
			continue;
		}
		e = c->adjacent[at[v]++];
		w = other_end(&c->edge[e], v);
		if (c->node[w].number == NONE) {
			enter(c, w, v, e);
			v = w;
		}
	}
}

/* The pass from the leaves up to the root. */

static bool is_tree_edge(const struct cycle *c, uint32_t e)
{
	const struct cycle_edge *x = &c->edge[e];

	return c->node[x->a].parent_edge == e || c->node[x->b].parent_edge == e;
}

static void end_capping(struct cycle *c, struct node *n)
{
	for (uint32_t from = n->capping; from != NONE; from = c->cap_next[from])
		drop(c, &n->list, c->nedges + from);
}

static void add_capping(struct cycle *c, uint32_t v)
{
	struct node *to = &c->node[c->order[c->node[v].hi_second]];

	invariant(to->number < c->node[v].number);
	c->cap_next[v] = to->capping;
	to->capping = v;
	push(c, &c->node[v].list, c->nedges + v);
}

/* Handles the back edges at v: removes those that end here and pushes those that lead above.
 * Returns the smallest number that one leads to. */
static uint32_t back_edges(struct cycle *c, uint32_t v)
{
	struct node *n = &c->node[v];
	uint32_t hi = NONE;

	for (uint32_t i = c->first[v]; i < c->first[v + 1]; i++) {
		uint32_t e = c->adjacent[i];
		uint32_t to = c->node[other_end(&c->edge[e], v)].number;

		if (to <= n->number || is_tree_edge(c, e))
			continue;
		drop(c, &n->list, e);
		if (c->cls[e] == NONE)
			c->cls[e] = new_class(c);
	}
	for (uint32_t i = c->first[v]; i < c->first[v + 1]; i++) {
		uint32_t e = c->adjacent[i];
		uint32_t to = c->node[other_end(&c->edge[e], v)].number;

		if (to >= n->number || is_tree_edge(c, e))
			continue;
		push(c, &n->list, e);
		hi = to < hi ? to : hi;
	}
	return hi;
}

static void tree_edge(struct cycle *c, const struct node *n)
{
	struct bracket *b;

	if (!n->list.size) {
		c->cls[n->parent_edge] = new_class(c);
		return;
	}
	b = &c->bracket[n->list.top];
	if (b->recent_size != n->list.size) {
		b->recent_size = n->list.size;
		b->recent_class = new_class(c);
	}
	c->cls[n->parent_edge] = b->recent_class;
	if (n->list.size == 1 && n->list.top < c->nedges)
		c->cls[n->list.top] = b->recent_class;
}

static void leave(struct cycle *c, uint32_t v)
{
	struct node *n = &c->node[v], *up;
	uint32_t hi;

	end_capping(c, n);
	hi = back_edges(c, v);
	if (n->hi_second < hi && n->hi_second < n->number)
		add_capping(c, v);
	n->hi = hi < n->hi_child ? hi : n->hi_child;
	if (n->parent == NONE) {
		invariant(!n->list.size); /* no bracket leads above the root */
		return;
	}
	invariant(c->node[n->parent].number < n->number);
	tree_edge(c, n);
	up = &c->node[n->parent];
	join(c, &up->list, &n->list);
	if (n->hi < up->hi_child) {
		up->hi_second = up->hi_child;
		up->hi_child = n->hi;
	} else if (n->hi < up->hi_second) {
		up->hi_second = n->hi;
	}
}

static bool allocate(struct cycle *c)
{
	size_t n = c->nnodes, m = c->nedges;

	c->first = calloc(n + 2, sizeof(*c->first));
	c->adjacent = malloc((2 * m + 1) * sizeof(*c->adjacent));
	c->node = malloc(n * sizeof(*c->node));
	c->order = malloc(n * sizeof(*c->order));
	c->bracket = calloc(m + n, sizeof(*c->bracket));
	c->cap_next = malloc(n * sizeof(*c->cap_next));
	return c->first && c->adjacent && c->node && c->order && c->bracket && c->cap_next;
}

static void release(struct cycle *c)
{
	free(c->first);
	free(c->adjacent);
	free(c->node);
	free(c->order);
	free(c->bracket);
	free(c->cap_next);
}

static bool run(struct cycle *c)
{
	uint32_t *at = malloc(c->nnodes * sizeof(*at));

	if (!at)
		return false;
	for (uint32_t v = 0; v < c->nnodes; v++)
		c->node[v] = (struct node){ .number = NONE,
					    .parent_edge = NONE,
					    .parent = NONE,
					    .hi = NONE,
					    .hi_child = NONE,
					    .hi_second = NONE,
					    .capping = NONE,
					    .list = { NONE, NONE, 0 } };
	make_adjacent(c);
	memcpy(at, c->first, c->nnodes * sizeof(*at));
	walk(c, at, c->first + 1);
	free(at);
	for (uint32_t i = c->reached; i-- > 0;)
		leave(c, c->order[i]);
	for (uint32_t e = 0; e < c->nedges; e++)
		if (c->cls[e] == NONE)
			c->cls[e] = new_class(c);
	for (uint32_t e = 0; e < c->nedges; e++)
		invariant(c->cls[e] < c->nclasses);
	return true;
}

int64_t cycle_classes(uint32_t nnodes, const struct cycle_edge *edge, uint32_t nedges,
		      uint32_t *cls)
{
	struct cycle c = { .edge = edge, .nnodes = nnodes, .nedges = nedges, .cls = cls };
	bool ok;

	memset(cls, 0xff, nedges * sizeof(*cls));
	if (!nnodes)
		return 0;
	ok = allocate(&c) && run(&c);
	release(&c);
	return ok ? (int64_t)c.nclasses : -1;
}
