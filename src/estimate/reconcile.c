/* SPDX-License-Identifier: MIT */
#include "estimate/reconcile.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>

/* GLPK's solver takes integers; even their sum over the graph must fit an int. */
#define UNITS 1e6   /* the largest frequency, in units */
#define ALL 1e9	    /* largest sum of all frequencies, in units */
#define DEAREST 1e5 /* largest cost of a unit */
#define MOST 1e9    /* largest change, in units */

struct vertex {
	double surplus; /* estimated inflow less estimated outflow */
};

struct arc {
	double low, cap, cost, x;
};

/* By confidence: the relative error to be expected of an estimate. */
static const double doubt[CONFIDENCE_N] = { 1e6, 0.5, 0.15, 0.05 };

/* Blocks, then edges, by number: the arcs that increase and decrease each one's flow. */
struct item {
	const struct arc *more, *less; /* GLPK's arcs; NULL: the flow is fixed */
};

struct network {
	glp_graph *g;
	double unit;
	struct item *item;
};

static double whole(const struct network *w, struct estimate_value v)
{
	return v.confidence == CONFIDENCE_NONE ? 0 : floor(v.f * w->unit + 0.5);
}

/* The cost of changing a flow by a unit. */
static double cost(const struct network *w, struct estimate_value v)
{
	double t = whole(w, v), c;

	if (v.confidence == CONFIDENCE_NONE)
		return 0;
	c = UNITS / (t + 1) / doubt[v.confidence];
	return c > DEAREST ? DEAREST : ceil(c);
}

static const struct arc *add_arc(struct network *w, int from, int to, double cap, double c)
{
	struct arc *d = glp_add_arc(w->g, from, to)->data;

	*d = (struct arc){ .cap = cap, .cost = c };
	return d;
}

/* Adds an arc for more flow and a backward arc for less flow. */
static void add_flow(struct network *w, int from, int to, struct estimate_value v,
		     struct item *item)
{
	double t = whole(w, v), c = cost(w, v);
	struct vertex *a = w->g->v[from]->data, *b = w->g->v[to]->data;

	if (from == to)
		return;
	a->surplus -= t;
	b->surplus += t;
	item->more = add_arc(w, from, to, MOST, c);
	if (t > 0)
		item->less = add_arc(w, to, from, t, c);
}

/* The two vertices of a block: 2 b + 1 where control enters, 2 b + 2 where it leaves. */
static int entered(uint32_t b)
{
	return 2 * (int)b + 1;
}

static int left(uint32_t b)
{
	return 2 * (int)b + 2;
}

static bool takes_part(const struct cfg *g, uint32_t b)
{
	return !(g->block[b].flags & CFG_UNREACHED);
}

static bool edge_takes_part(const struct cfg *g, uint32_t e)
{
	return takes_part(g, g->edge[e].from) && takes_part(g, g->edge[e].to);
}

static void build(struct network *w, const struct cfg *g, const struct estimate_value *block,
		  const struct estimate_value *edge)
{
	const struct estimate_value free_of_cost = { 0 };
	struct item back = { 0 };

	glp_add_vertices(w->g, 2 * (int)g->nblocks);
	for (uint32_t b = 0; b < g->nblocks; b++)
		if (takes_part(g, b))
			add_flow(w, entered(b), left(b), block[b], &w->item[b]);
	for (uint32_t e = 0; e < g->nedges; e++)
		if (edge_takes_part(g, e))
			add_flow(w, left(g->edge[e].from), entered(g->edge[e].to), edge[e],
				 &w->item[g->nblocks + e]);
	/* flow that leaves the procedure enters it again */
	add_flow(w, left(CFG_EXIT_BLOCK), entered(CFG_ENTRY_BLOCK), free_of_cost, &back);
}

static void take(const struct network *w, struct estimate_value *v, const struct item *item)
{
	double by = (item->more ? item->more->x : 0) - (item->less ? item->less->x : 0);

	if (!item->more)
		return;
	v->f = fmax(0, whole(w, *v) + by) / w->unit;
	if (v->confidence == CONFIDENCE_NONE)
		v->confidence = CONFIDENCE_LOW;
}

/* The largest frequency; *sum: the sum of all. */
static double greatest(const struct estimate_value *v, uint32_t n, double *sum)
{
	double most = 0;

	for (uint32_t i = 0; i < n; i++)
		if (v[i].confidence != CONFIDENCE_NONE && isfinite(v[i].f)) {
			most = fmax(most, v[i].f);
			*sum += v[i].f;
		}
	return most;
}

static int solve(const struct network *w)
{
	double sum;

	return glp_mincost_okalg(w->g, (int)offsetof(struct vertex, surplus),
				 (int)offsetof(struct arc, low), (int)offsetof(struct arc, cap),
				 (int)offsetof(struct arc, cost), &sum,
				 (int)offsetof(struct arc, x), -1);
}

int reconcile(const struct cfg *g, struct estimate_value *block, struct estimate_value *edge,
	      struct err *err)
{
	double sum = 0;
	double most = fmax(greatest(block, g->nblocks, &sum), greatest(edge, g->nedges, &sum));
	struct network w = { .unit = fmin(UNITS / most, ALL / sum) };
	int rc;

	if (most <= 0)
		return 0;
	if (g->nblocks > RECONCILE_MAX)
		return 1;
	w.item = calloc((size_t)g->nblocks + g->nedges + 1, sizeof(*w.item));
	if (!w.item)
		return err_no_memory(err, "estimates");
	w.g = glp_create_graph(sizeof(struct vertex), sizeof(struct arc));
	glp_term_out(GLP_OFF);
	build(&w, g, block, edge);
	rc = solve(&w);
	for (uint32_t b = 0; b < g->nblocks && !rc; b++)
		take(&w, &block[b], &w.item[b]);
	for (uint32_t e = 0; e < g->nedges && !rc; e++)
		take(&w, &edge[e], &w.item[g->nblocks + e]);
	glp_delete_graph(w.g);
	free(w.item);
	return rc ? 1 : 0;
}
