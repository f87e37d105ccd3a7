/* SPDX-License-Identifier: MIT */
#include "export/inclusive.h"

#include <stdbool.h>
#include <stdlib.h>

struct graph {
	size_t n;
	struct inclusive_call *call;
	size_t *first; /* by procedure: its first call; n + 1 of them */
	/* Tarjan's algorithm ("Depth-First Search and Linear Graph Algorithms", 1972), without recursion */
	uint32_t *order, *low, *stack, *path;
	size_t *next; /* by procedure: the call to be followed next */
	bool *stacked;
	size_t nstack, npath;
	uint32_t count;
	uint32_t *circle; /* by procedure: its circle; what a circle calls has a smaller number */
	uint32_t ncircle;
	double *cost, *entries; /* by circle */
};

static int by_caller(const void *a, const void *b)
{
	const struct inclusive_call *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static void graph_fini(struct graph *g)
{
	free(g->first);
	free(g->order);
	free(g->low);
	free(g->stack);
	free(g->path);
	free(g->next);
	free(g->stacked);
	free(g->circle);
	free(g->cost);
	free(g->entries);
}

static int graph_init(struct graph *g, size_t n, struct inclusive_call *call, size_t ncall)
{
	size_t at = 0;

	*g = (struct graph){ .n = n, .call = call };
	g->first = malloc((n + 1) * sizeof(*g->first));
	g->next = malloc((n + 1) * sizeof(*g->next));
	g->order = calloc(n + 1, sizeof(*g->order));
	g->low = calloc(n + 1, sizeof(*g->low));
	g->stack = malloc((n + 1) * sizeof(*g->stack));
	g->path = malloc((n + 1) * sizeof(*g->path));
	g->stacked = calloc(n + 1, sizeof(*g->stacked));
	g->circle = calloc(n + 1, sizeof(*g->circle));
	g->cost = calloc(n + 1, sizeof(*g->cost));
	g->entries = calloc(n + 1, sizeof(*g->entries));
	if (!g->first || !g->next || !g->order || !g->low || !g->stack || !g->path || !g->stacked ||
	    !g->circle || !g->cost || !g->entries)
		return -1;
	qsort(call, ncall, sizeof(*call), by_caller);
	for (size_t i = 0; i <= n; i++) {
		while (at < ncall && call[at].from < i)
			at++;
		g->first[i] = g->next[i] = at;
	}
	return 0;
}

static void enter(struct graph *g, uint32_t v)
{
	g->order[v] = g->low[v] = ++g->count;
	g->stack[g->nstack++] = g->path[g->npath++] = v;
	g->stacked[v] = true;
}

static void lower(struct graph *g, uint32_t v, uint32_t to)
{
	if (to < g->low[v])
		g->low[v] = to;
}

static void close_circle(struct graph *g, uint32_t v)
{
	uint32_t w;

	do {
		w = g->stack[--g->nstack];
		g->stacked[w] = false;
		g->circle[w] = g->ncircle;
	} while (w != v);
	g->ncircle++;
}

static void leave(struct graph *g, uint32_t v)
{
	g->npath--;
	if (g->low[v] == g->order[v])
		close_circle(g, v);
	if (g->npath)
		lower(g, g->path[g->npath - 1], g->low[v]);
}

static void visit(struct graph *g, uint32_t root)
{
	enter(g, root);
	while (g->npath) {
		uint32_t v = g->path[g->npath - 1], w;

		if (g->next[v] == g->first[v + 1]) {
			leave(g, v);
			continue;
		}
		w = g->call[g->next[v]++].to;
		if (!g->order[w])
			enter(g, w);
		else if (g->stacked[w])
			lower(g, v, g->order[w]);
	}
}

/* Circles in the order in which their costs are known: those that are called first. */
static int by_circle(const void *a, const void *b, void *ctx)
{
	const struct graph *g = ctx;
	uint32_t x = g->circle[*(const uint32_t *)a], y = g->circle[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

static void hand_up(struct graph *g, const double *own, size_t ncall)
{
	for (size_t i = 0; i < ncall; i++) {
		const struct inclusive_call *c = &g->call[i];

		if (g->circle[c->from] != g->circle[c->to])
			g->entries[g->circle[c->to]] += c->count;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		g->stack[i] = i;
		g->cost[g->circle[i]] += own[i];
	}
	qsort_r(g->stack, g->n, sizeof(*g->stack), by_circle, g);
	for (size_t i = 0; i < g->n; i++) {
		uint32_t v = g->stack[i];

		for (size_t k = g->first[v]; k < g->first[v + 1]; k++) {
			struct inclusive_call *c = &g->call[k];
			uint32_t to = g->circle[c->to];

			c->cost = 0;
			if (to == g->circle[v] || g->entries[to] <= 0)
				continue;
			c->cost = g->cost[to] * c->count / g->entries[to];
			g->cost[g->circle[v]] += c->cost;
		}
	}
}

int inclusive_costs(size_t n, const double *own, struct inclusive_call *call, size_t ncall)
{
	struct graph g;
	int rc = graph_init(&g, n, call, ncall);

	for (uint32_t i = 0; !rc && i < n; i++)
		if (!g.order[i])
			visit(&g, i);
	if (!rc)
		hand_up(&g, own, ncall);
	graph_fini(&g);
	return rc;
}
