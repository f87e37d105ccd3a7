/* SPDX-License-Identifier: MIT */
#include "estimate/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "estimate/estimate_priv.h"

#define STRONG 16.0 /* passes of control that join two blocks in one part */
#define CHANCE 4.0  /* variance of a tie times the number of passes */
#define SWEEPS 200
#define ALONE 0.9 /* share of a procedure's calls that come from one part, which ties it to that */
#define ROUNDS 16 /* calls of calls that tie procedures to one part */

/* The part that calls a procedure most often, by Boyer and Moore's vote. */
struct caller {
	double all, most, seen; /* calls from other parts; votes; calls from that part */
	uint32_t part;
	/* the procedure is in the part of most of its callers: no other caller joins that part */
	bool settled;
};

struct passes {
	const struct estimate *e;
	struct parts *p;
	double *into;	       /* by block: passes of control into it that windows saw */
	struct caller *caller; /* by block, at procedures' entries */
	size_t cap;
	bool failed, changed;
};

/* An edge or call between two blocks, numbered through the program. */
struct pass {
	uint32_t from, to;
	double seen;	   /* times that windows saw control pass along it */
	double left;	   /* times that windows saw control leave the block */
	bool always, only; /* control always leaves this way; and comes no other way */
};

static double observed_last(const struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];
	const struct site *s = k->ninsn ? p->site[k->insn + k->ninsn - 1] : NULL;

	return k->ninsn ? (s ? (double)s->observed : 0) : p->observed[b];
}

/* Whether control enters the block in one way only. Padding, or data, that is decoded as code leads nowhere: nothing leads
 * to it, and no window saw it. */
static bool has_one_way(const struct cfg *g, uint32_t block)
{
	const struct cfg_block *b = &g->block[block];
	uint32_t ways = 0;

	for (uint32_t i = b->in; i < b->in + b->nin; i++) {
		uint8_t flags = g->block[g->edge[g->in[i]].from].flags;

		ways += !(flags & CFG_UNREACHED) || (flags & CFG_SEEN);
	}
	return ways == 1;
}

static void pass_edge(struct passes *c, const struct estimate_proc *p, uint32_t edge,
		      void (*fn)(struct passes *, const struct pass *))
{
	const struct cfg_edge *d = &p->g.edge[edge];
	double left = observed_last(p, d->from);

	if (d->to != CFG_EXIT_BLOCK && d->kind != CFG_VIRTUAL)
		fn(c, &(struct pass){ (uint32_t)p->first + d->from, (uint32_t)p->first + d->to,
				      left * p->share[edge], left, p->g.block[d->from].nout == 1,
				      has_one_way(&p->g, d->to) });
}

static void each_edge(struct passes *c, void (*fn)(struct passes *, const struct pass *))
{
	const struct estimate *e = c->e;

	for (size_t i = 0; i < e->nproc; i++)
		for (uint32_t k = 0; k < e->proc[i].g.nedges; k++)
			pass_edge(c, &e->proc[i], k, fn);
}

static void each_call(struct passes *c, void (*fn)(struct passes *, const struct pass *))
{
	const struct estimate *e = c->e;

	for (size_t i = 0; i < e->ncalls; i++) {
		const struct estimate_call *d = &e->call[i];
		const struct estimate_proc *p = &e->proc[d->from_proc];
		double left = observed_last(p, d->from_block);

		fn(c, &(struct pass){ (uint32_t)p->first + d->from_block,
				      (uint32_t)e->proc[d->to_proc].first + CFG_ENTRY_BLOCK,
				      left * d->share, left, d->share == 1, false });
	}
}

static void add_into(struct passes *c, const struct pass *k)
{
	c->into[k->to] += k->seen;
}

/* Adds the passes into procedures from unknown places. */
static void enter(struct passes *c)
{
	for (size_t i = 0; i < c->e->nproc; i++) {
		const struct estimate_proc *p = &c->e->proc[i];
		double *into = &c->into[p->first + CFG_ENTRY_BLOCK];

		*into = fmax(*into, p->observed[CFG_ENTRY_BLOCK]);
	}
}

/*
 * How little the number of passes tells how often one block runs for each execution of the other,
 * from 0 to 1: a block that control always leaves this way, and one that control enters no other
 * way, runs as often as control passes, however rarely windows saw that. Shares are by Laplace's
 * rule of succession.
 */
static double doubt(const struct passes *c, const struct pass *k)
{
	double out = k->always ? 0 : 1 - (k->seen + 1) / (k->left + 2);
	double in = k->only ? 0 : 1 - (k->seen + 1) / (c->into[k->to] + 2);

	return fmin(1, out + in);
}

static uint32_t root(uint32_t *of, uint32_t i)
{
	while (of[i] != i)
		i = of[i] = of[of[i]];
	return i;
}

static void unite(struct passes *c, const struct pass *k)
{
	if (k->seen >= STRONG * doubt(c, k))
		c->p->of[root(c->p->of, k->from)] = root(c->p->of, k->to);
}

/* Finds for each procedure the part of most of its callers. */
static void find_caller(struct passes *c, const struct pass *k)
{
	struct caller *to = &c->caller[k->to];
	uint32_t from = root(c->p->of, k->from);

	if (from == root(c->p->of, k->to))
		return;
	to->all += k->seen;
	to->most = from == to->part ? to->most + k->seen : to->most - k->seen;
	if (to->most < 0) {
		to->part = from;
		to->most = -to->most;
	}
}

static void count_caller(struct passes *c, const struct pass *k)
{
	if (root(c->p->of, k->from) == c->caller[k->to].part)
		c->caller[k->to].seen += k->seen;
}

/*
 * A call ties the procedure to its caller if nearly all calls of it come from that part. A procedure that several parts
 * call ties them no more than they are tied otherwise: loops that run one after the other may call the same procedure.
 */
static void unite_call(struct passes *c, const struct pass *k)
{
	struct caller *to = &c->caller[k->to];
	uint32_t from = root(c->p->of, k->from), into = root(c->p->of, k->to);

	if (to->settled || from == into || from != to->part || to->seen < ALONE * to->all)
		return;
	if (k->seen >= STRONG * doubt(c, k)) {
		c->p->of[from] = into;
		to->settled = c->changed = true;
	}
}

static void unite_calls(struct passes *c)
{
	for (int round = 0; round < ROUNDS; round++) {
		c->changed = false;
		for (uint32_t i = 0; i <= c->e->nblocks; i++)
			c->caller[i] = (struct caller){ .settled = c->caller[i].settled };
		each_call(c, find_caller);
		each_call(c, count_caller);
		each_call(c, unite_call);
		if (!c->changed)
			return;
	}
}

static void add_tie(struct passes *c, struct part_tie t)
{
	struct parts *p = c->p;

	if (t.a == t.b || !(t.passed > 0) || c->failed)
		return;
	if (array_reserve(p->tie, c->cap, p->nties + 1))
		p->tie[p->nties++] = t;
	else
		c->failed = true;
}

static void tie(struct passes *c, const struct pass *k)
{
	uint32_t a = c->p->of[k->from], b = c->p->of[k->to];

	add_tie(c,
		(struct part_tie){ a < b ? a : b, a < b ? b : a, k->seen / doubt(c, k), false, 0 });
}

/* A procedure that several parts call runs as often as they call it. */
static void tie_call(struct passes *c, const struct pass *k)
{
	add_tie(c, (struct part_tie){ c->p->of[k->from], c->p->of[k->to], k->seen, true, 0 });
}

static int by_ends(const void *a, const void *b)
{
	const struct part_tie *x = a, *y = b;

	if (x->call != y->call)
		return x->call ? 1 : -1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

/* Merges the ties between the same two parts. */
static void sum_up(struct parts *p)
{
	size_t n = 0;

	if (p->nties)
		qsort(p->tie, p->nties, sizeof(*p->tie), by_ends);
	for (size_t i = 0; i < p->nties; i++)
		if (n && !by_ends(&p->tie[n - 1], &p->tie[i]))
			p->tie[n - 1].passed += p->tie[i].passed;
		else
			p->tie[n++] = p->tie[i];
	p->nties = n;
}

/* Replaces roots by numbers of parts. */
static int number(struct parts *p, uint32_t nblocks)
{
	uint32_t *name = calloc(nblocks + 1u, sizeof(*name));

	if (!name)
		return -1;
	for (uint32_t i = 0; i < nblocks; i++)
		if (root(p->of, i) == i)
			name[i] = p->n++;
	for (uint32_t i = 0; i < nblocks; i++)
		p->of[i] = root(p->of, i);
	for (uint32_t i = 0; i < nblocks; i++)
		p->of[i] = name[p->of[i]];
	free(name);
	for (uint32_t i = 0; i < nblocks; i++)
		invariant(p->of[i] < p->n);
	p->part = calloc(p->n + 1u, sizeof(*p->part));
	return p->part ? 0 : -1;
}

static int list_blocks(struct parts *p, const struct estimate *e)
{
	p->first = calloc((size_t)p->n + 2, sizeof(*p->first));
	p->block = calloc(e->nblocks + 1, sizeof(*p->block));
	if (!p->first || !p->block)
		return -1;
	for (size_t i = 0; i < e->nblocks; i++)
		p->first[p->of[i] + 2]++;
	for (uint32_t i = 0; i < p->n; i++)
		p->first[i + 2] += p->first[i + 1];
	for (uint32_t i = 0; i < e->nproc; i++)
		for (uint32_t b = 0; b < e->proc[i].g.nblocks; b++) {
			uint32_t of = p->of[e->proc[i].first + b];

			invariant(p->first[of + 1] < e->nblocks);
			p->block[p->first[of + 1]++] = (struct part_block){ i, b };
			p->part[of].samples += e->proc[i].samples[b];
		}
	return 0;
}

static int find_parts(struct passes *c)
{
	for (uint32_t i = 0; i < c->e->nblocks; i++)
		c->p->of[i] = i;
	each_edge(c, add_into);
	each_call(c, add_into);
	enter(c);
	each_edge(c, unite);
	unite_calls(c);
	if (number(c->p, (uint32_t)c->e->nblocks) || list_blocks(c->p, c->e))
		return -1;
	each_edge(c, tie);
	each_call(c, tie_call);
	sum_up(c->p);
	return c->failed ? -1 : 0;
}

int parts_make(struct estimate *e)
{
	struct parts *p = calloc(1, sizeof(*p));
	struct passes c = { .e = e,
			    .p = p,
			    .into = calloc(e->nblocks + 1, sizeof(*c.into)),
			    .caller = calloc(e->nblocks + 1, sizeof(*c.caller)) };
	int rc = -1;

	parts_free(e->parts);
	e->parts = p;
	if (p)
		p->of = calloc(e->nblocks + 1, sizeof(*p->of));
	if (p && p->of && c.into && c.caller)
		rc = find_parts(&c);
	free(c.into);
	free(c.caller);
	return rc;
}

void parts_free(struct parts *p)
{
	if (!p)
		return;
	free(p->of);
	free(p->part);
	free(p->first);
	free(p->block);
	free(p->tie);
	free(p->turns);
	free(p);
}

int parts_add_turns(struct parts *p, const struct part_turns *t)
{
	if (!array_reserve(p->turns, p->turns_room, p->nturns + 1))
		return -1;
	p->turns[p->nturns++] = *t;
	return 0;
}

/* The certainty (1 / variance) that a tie gives one end if the other end is known. */
static double strength(const struct part_tie *t)
{
	return t->passed / CHANCE;
}

/* Calls of a part from others: relative frequency, that times the callers' scales, and passes. */
struct called {
	double flow, run, passed;
};

static void call(struct called *to, const struct part_tie *t, double scale)
{
	to->flow += t->flow;
	to->run += t->flow * exp(scale);
	to->passed += t->passed;
}

/* Solves for the scales by Gauss-Seidel iteration: each part gets the mean of its own evidence
 * and of the parts it is tied to. */
static void settle(struct parts *p, double *sum, double *weight, struct called *called)
{
	for (uint32_t i = 0; i < p->n; i++) {
		sum[i] = p->part[i].sum;
		weight[i] = p->part[i].weight;
		called[i] = (struct called){ 0 };
	}
	for (size_t i = 0; i < p->nties; i++) {
		const struct part_tie *t = &p->tie[i];
		double w = strength(t);

		if (t->call) {
			call(&called[t->b], t, p->part[t->a].scale);
			continue;
		}
		sum[t->a] += w * p->part[t->b].scale;
		sum[t->b] += w * p->part[t->a].scale;
		weight[t->a] += w;
		weight[t->b] += w;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		if (called[i].flow > 0) {
			double w = called[i].passed / CHANCE;

			sum[i] += w * log(called[i].run / called[i].flow);
			weight[i] += w;
		}
		if (weight[i] > 0)
			p->part[i].scale = sum[i] / weight[i];
	}
}

/* Computes each part's variance by its best evidence: its own, or that of another part and the
 * ties on the way there. */
static bool widen(struct parts *p)
{
	bool changed = false;

	for (size_t i = 0; i < p->nties; i++) {
		const struct part_tie *t = &p->tie[i];
		struct part *a = &p->part[t->a], *b = &p->part[t->b];
		double by = 1 / strength(t);

		if (!t->call && a->variance > b->variance + by) {
			a->variance = b->variance + by;
			changed = true;
		} else if (b->variance > a->variance + by) {
			b->variance = a->variance + by;
			changed = true;
		}
	}
	return changed;
}

void parts_weigh_calls(struct estimate *e)
{
	struct parts *p = e->parts;

	for (size_t i = 0; i < p->nties; i++)
		p->tie[i].flow = 0;
	for (size_t i = 0; i < e->ncalls && p->nties; i++) {
		const struct estimate_call *d = &e->call[i];
		const struct estimate_proc *from = &e->proc[d->from_proc];
		const struct part_tie key = { .a = part_of(e, from, d->from_block),
					      .b = part_of(e, &e->proc[d->to_proc],
							   CFG_ENTRY_BLOCK),
					      .call = true };
		struct part_tie *t = bsearch(&key, p->tie, p->nties, sizeof(key), by_ends);

		if (t)
			t->flow += from->block[d->from_block].f * d->share;
	}
}

void parts_solve(struct parts *p)
{
	double *sum = calloc(2 * (size_t)p->n + 1, sizeof(*sum));
	struct called *called = calloc((size_t)p->n + 1, sizeof(*called));

	for (uint32_t i = 0; i < p->n; i++) {
		struct part *k = &p->part[i];

		k->scale = k->weight > 0 ? k->sum / k->weight : 0;
		k->variance = k->weight > 0 ? 1 / k->weight : INFINITY;
	}
	for (int round = 0; round < SWEEPS && sum && called; round++)
		settle(p, sum, sum + p->n, called);
	for (int round = 0; round < SWEEPS && widen(p); round++)
		;
	free(sum);
	free(called);
}

void parts_multiply(struct estimate *e, uint32_t part, double factor)
{
	const struct parts *k = e->parts;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++) {
		struct estimate_proc *p = &e->proc[k->block[i].proc];
		uint32_t b = k->block[i].block;
		const struct cfg_block *from = &p->g.block[b];

		p->block[b].f *= factor;
		for (uint32_t d = from->out; d < from->out + from->nout; d++)
			p->edge[d].f *= factor;
	}
}
