/* SPDX-License-Identifier: MIT */
#include "culprit/path.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define WAYS 16
#define WAY_LEAST 0.02 /* least share of executions: a rarer way is ignored */
#define DEPTH 4	       /* most blocks that are searched backwards */
#define TAILS 3	       /* tail calls that are followed to a return */
#define STORE_INSNS 64 /* instructions after which a store has left the buffer, unless it is full */
#define CHAIN 16
#define SHORT 8 /* instructions of a block that does not fill an empty pipeline */

struct paths {
	const struct estimate *e;
	const struct estimate_source *src;
	const struct fact_source *facts;
	struct fact **of; /* by block of the program; NULL: not made yet */
	struct estimate_call *by_from, *by_to;
};

/* A block that may run before another one, and its share. */
struct way {
	const struct estimate_proc *proc;
	uint32_t block;
	double share;
	bool jumped;
};

struct ways {
	struct way v[WAYS];
	unsigned n;
	double elsewhere;
};

static int by_from(const void *a, const void *b)
{
	const struct estimate_call *x = a, *y = b;

	if (x->from_proc != y->from_proc)
		return x->from_proc < y->from_proc ? -1 : 1;
	return (x->from_block > y->from_block) - (x->from_block < y->from_block);
}

static int by_to(const void *a, const void *b)
{
	const struct estimate_call *x = a, *y = b;

	if (x->to_proc != y->to_proc)
		return x->to_proc < y->to_proc ? -1 : 1;
	return by_from(a, b);
}

static struct estimate_call *sorted(const struct estimate *e,
				    int (*order)(const void *, const void *))
{
	struct estimate_call *v = malloc((e->ncalls + 1) * sizeof(*v));

	if (v && e->ncalls) {
		memcpy(v, e->call, e->ncalls * sizeof(*v));
		qsort(v, e->ncalls, sizeof(*v), order);
	}
	return v;
}

struct paths *paths_new(const struct estimate *e, const struct estimate_source *src,
			const struct fact_source *facts)
{
	struct paths *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct paths){ .e = e, .src = src, .facts = facts };
	p->of = calloc(e->nblocks + 1, sizeof(struct fact *));
	p->by_from = sorted(e, by_from);
	p->by_to = sorted(e, by_to);
	if (p->of && p->by_from && p->by_to)
		return p;
	paths_free(p);
	return NULL;
}

void paths_free(struct paths *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->of && i < p->e->nblocks; i++)
		free(p->of[i]);
	free(p->of);
	free(p->by_from);
	free(p->by_to);
	free(p);
}

/* Facts of instructions. */

static double executions(const struct paths *p, const struct estimate_proc *proc, uint32_t block)
{
	return proc->block[block].confidence == CONFIDENCE_NONE
		       ? 0
		       : proc->block[block].f * p->facts->scale;
}

static struct fact *make_facts(struct paths *p, const struct estimate_proc *proc, uint32_t block)
{
	const struct cfg_block *b = &proc->g.block[block];
	struct image *im = p->src->image(p->src->ctx, proc->image);
	struct fact *f = calloc((size_t)b->ninsn + 1, sizeof(*f));
	const struct schedule_insn *scheduled = schedules_of(p->facts->schedules, proc, block);
	struct fact_source facts = *p->facts;

	facts.refills = facts.all_refills ? facts.all_refills[proc - p->e->proc] : 0;
	for (uint32_t i = 0; f && im && i < b->ninsn; i++) {
		const struct cfg_insn *at = &proc->g.insn[b->insn + i];
		size_t n = 0;
		const uint8_t *code = image_code(im, at->addr, &n);
		double each[MISS_KIND_N];
		struct insn in;

		if (code && insn_decode(&in, code, n, at->addr)) {
			const struct site *s = proc->site[b->insn + i];
			struct pattern way = { 0 };

			if (fact_is_fresh(&in, s))
				way = pattern_of(im, proc, block, i);
			fact_make(&f[i], &in, s, executions(p, proc, block), way, &facts);
		}
		f[i].image = proc->image;
		f[i].least = scheduled ? scheduled[i].least : 0;
		if (f[i].len && p->src->missed &&
		    p->src->missed(p->src->count_ctx, proc->image, at->addr, each))
			fact_missed(&f[i], each, p->facts->machine);
	}
	if (f)
		fact_resolve(f, b->ninsn);
	return f;
}

const struct fact *paths_fact(struct paths *p, const struct estimate_proc *proc, uint32_t block,
			      uint32_t k)
{
	struct fact **f = &p->of[proc->first + block];

	if (k >= proc->g.block[block].ninsn)
		return NULL;
	if (!*f)
		*f = make_facts(p, proc, block);
	return *f && (*f)[k].len ? &(*f)[k] : NULL;
}

/* Ways to a block. */

static void add_way(struct ways *w, const struct estimate_proc *proc, uint32_t block, double share,
		    bool jumped)
{
	if (w->n < WAYS && share >= WAY_LEAST)
		w->v[w->n++] = (struct way){ proc, block, share, jumped };
	else if (share >= WAY_LEAST)
		w->elsewhere += share;
}

/* Adds the ways into a procedure from its callers, which together have this share of the executions in question. */
static void add_callers(const struct paths *p, const struct estimate_proc *proc, double entered,
			double share, struct ways *w)
{
	uint32_t to = (uint32_t)(proc - p->e->proc);
	size_t low = search_first(i, 0, p->e->ncalls, p->by_to[i].to_proc >= to);
	double sum = 0;

	for (size_t i = low; i < p->e->ncalls && p->by_to[i].to_proc == to; i++) {
		const struct estimate_call *c = &p->by_to[i];
		const struct estimate_proc *from = &p->e->proc[c->from_proc];
		double f = from->block[c->from_block].f;

		if (entered <= 0 || f <= 0)
			continue;
		sum += f / entered;
		add_way(w, from, c->from_block, share * fmin(1, f / entered), true);
	}
	if (sum < 1)
		w->elsewhere += share * (1 - sum);
}

static uint32_t tail_of(const struct paths *p, uint32_t proc, uint32_t block)
{
	const struct estimate_call key = { .from_proc = proc, .from_block = block };
	const struct estimate_call *c =
		p->e->ncalls ? bsearch(&key, p->by_from, p->e->ncalls, sizeof(key), by_from) : NULL;

	return c ? c->to_proc : CFG_NONE;
}

/* Adds the places where the procedure returns from. False: they are not known. */
static bool add_returns(const struct paths *p, uint32_t callee, double share, int depth,
			struct ways *w)
{
	const struct estimate_proc *q = &p->e->proc[callee];
	double sum = 0;

	for (uint32_t b = CFG_FIRST_BLOCK; b < q->g.nblocks; b++)
		if (q->g.block[b].ends == CFG_END_RETURN || q->g.block[b].ends == CFG_END_TAIL)
			sum += q->block[b].f;
	if (sum <= 0 || depth > TAILS)
		return false;
	for (uint32_t b = CFG_FIRST_BLOCK; b < q->g.nblocks; b++) {
		double part = share * q->block[b].f / sum;
		uint32_t to;

		if (q->g.block[b].ends == CFG_END_RETURN) {
			add_way(w, q, b, part, true);
		} else if (q->g.block[b].ends == CFG_END_TAIL && part >= WAY_LEAST) {
			to = tail_of(p, callee, b);
			if (to == CFG_NONE || !add_returns(p, to, part, depth + 1, w))
				w->elsewhere += part;
		}
	}
	return true;
}

static void add_call(const struct paths *p, const struct estimate_proc *proc, uint32_t from,
		     double share, struct ways *w)
{
	const struct cfg_block *b = &proc->g.block[from];
	struct estimate_at at;

	if (!b->callee || !estimate_find(p->e, proc->image, b->callee, &at) ||
	    !add_returns(p, (uint32_t)(at.proc - p->e->proc), share, 0, w))
		w->elsewhere += share;
}

/* Scales shares so that they add up to one. */
static void level(struct ways *w)
{
	double sum = w->elsewhere;

	for (unsigned i = 0; i < w->n; i++)
		sum += w->v[i].share;
	if (sum <= 0) {
		w->elsewhere = 1;
		return;
	}
	w->elsewhere /= sum;
	for (unsigned i = 0; i < w->n; i++)
		w->v[i].share /= sum;
}

static void ways_into(const struct paths *p, const struct estimate_proc *proc, uint32_t block,
		      struct ways *w)
{
	const struct cfg *g = &proc->g;
	const struct cfg_block *b = &g->block[block];
	double f = proc->block[block].f;

	w->n = 0;
	w->elsewhere = 0;
	for (uint32_t i = b->in; f > 0 && i < b->in + b->nin; i++) {
		const struct cfg_edge *e = &g->edge[g->in[i]];
		double passed = proc->edge[g->in[i]].f, share = fmin(1, passed / f);

		if (share < WAY_LEAST)
			continue;
		if (e->from == CFG_ENTRY_BLOCK && e->kind == CFG_ENTER)
			add_callers(p, proc, passed, share, w);
		else if (e->from == CFG_ENTRY_BLOCK)
			w->elsewhere += share;
		else if (e->kind == CFG_AFTER && g->block[e->from].ends == CFG_END_CALL)
			add_call(p, proc, e->from, share, w);
		else
			add_way(w, proc, e->from, share, !cfg_is_untaken(g, g->in[i]));
	}
	level(w);
}

/* The share of a block's executions that begin with an empty pipeline: the branch before them was mispredicted, or the one
 * before a short block. *by: the branch that is mispredicted most. */
static struct odds emptied(struct paths *p, const struct estimate_proc *proc, uint32_t block,
			   bool again, const struct fact **by)
{
	const struct fact *f = paths_fact(p, proc, block, 0);
	struct odds sum = { 0, 0 };
	double most = 0;
	struct ways w;

	if (!f)
		return sum;
	ways_into(p, proc, block, &w);
	for (unsigned i = 0; i < w.n; i++) {
		const struct way *v = &w.v[i];
		uint32_t n = v->proc->g.block[v->block].ninsn;
		const struct fact *last = n ? paths_fact(p, v->proc, v->block, n - 1) : NULL,
				  *first = NULL;
		struct odds here = front_wrong_before(f, last, v->share), before = { 0, 0 };

		if (again && n && n <= SHORT)
			before = emptied(p, v->proc, v->block, false, &first);
		here.likely += (v->share - here.likely) * before.likely;
		here.most = fmin(v->share, here.most + v->share * before.most);
		sum.most += here.most;
		sum.likely += here.likely;
		if (here.most <= most)
			continue;
		most = here.most;
		*by = first && before.most * v->share > most / 2 ? first : last;
	}
	return sum;
}

/* Completes the facts of the block's k-th instruction by the instructions that ran right before
 * it. */
const struct fact *paths_placed(struct paths *p, const struct estimate_proc *proc, uint32_t block,
				uint32_t k)
{
	struct fact *f = (struct fact *)paths_fact(p, proc, block, k);
	struct front_from from[FRONT_FROM];
	const struct fact *by = NULL;
	struct odds left;
	unsigned n = 0;
	struct ways w;

	if (!f || f->placed)
		return f;
	if (k) {
		paths_placed(p, proc, block, 0);
		from[n++] = (struct front_from){ paths_fact(p, proc, block, k - 1), 1, false };
		front_place(f, from, n, false, p->facts);
		return f;
	}
	ways_into(p, proc, block, &w);
	for (unsigned i = 0; i < w.n && n < FRONT_FROM - 1; i++) {
		const struct estimate_proc *q = w.v[i].proc;
		uint32_t last = q->g.block[w.v[i].block].ninsn;

		from[n++] =
			(struct front_from){ last ? paths_fact(p, q, w.v[i].block, last - 1) : NULL,
					     w.v[i].share, w.v[i].jumped };
	}
	if (w.elsewhere > WAY_LEAST)
		from[n++] = (struct front_from){ NULL, w.elsewhere, true };
	front_place(f, from, n, true, p->facts);
	left = emptied(p, proc, block, true, &by);
	front_expose(f, proc->g.block[block].ninsn, left, by);
	return f;
}

/* The backward search for suspects. */

struct look {
	struct paths *p;
	struct culprit_case *c;
	/* instructions in between, the nearest to the stalled one first */
	const struct fact *chain[CHAIN];
	unsigned nchain, most;
};

/* Whether one of the instructions in between needs the result. The one right before the stalled
 * instruction may be the waiting one, because the sample hits the next instruction. */
static bool feeds_any(const struct look *l, const struct fact *f)
{
	for (unsigned i = 1; i < l->nchain; i++)
		if (fact_feeds(f, l->chain[i]))
			return true;
	return false;
}

/* Adds a suspect, keeping the nearest first. */
static void add_suspect(struct culprit_case *c, const struct fact *f, double share,
			unsigned distance)
{
	unsigned i = 0, at;

	while (i < c->nsuspects && c->suspect[i].fact != f)
		i++;
	if (i < c->nsuspects) {
		c->suspect[i].share = fmin(1, c->suspect[i].share + share);
		return;
	}
	if (i == CASE_SUSPECTS)
		return;
	for (at = i; at > 0 && c->suspect[at - 1].distance > distance; at--)
		c->suspect[at] = c->suspect[at - 1];
	c->suspect[at] = (struct case_before){ f, share, distance };
	c->nsuspects++;
}

/*
 * Searches backwards from the block's k-th instruction. An instruction is a suspect if those in
 * between can have retired together with it, because none of them waits for its result.
 */
static void look_back(struct look *l, const struct estimate_proc *proc, uint32_t block, uint32_t k,
		      double share, int depth)
{
	unsigned kept = l->nchain;
	struct ways w;

	while (k-- > 0 && l->nchain < l->most) {
		const struct fact *f = paths_placed(l->p, proc, block, k);

		if (!f)
			break;
		if (!feeds_any(l, f))
			add_suspect(l->c, f, share, l->nchain);
		l->chain[l->nchain++] = f;
		if (f->serial)
			break;
	}
	if (k == UINT32_MAX && l->nchain < l->most && depth < DEPTH) {
		ways_into(l->p, proc, block, &w);
		/* All that is known of unknown code is that it ran just before. */
		if (!l->nchain)
			l->c->elsewhere += share * w.elsewhere;
		for (unsigned i = 0; i < w.n; i++)
			if (share * w.v[i].share >= WAY_LEAST)
				look_back(l, w.v[i].proc, w.v[i].block,
					  w.v[i].proc->g.block[w.v[i].block].ninsn,
					  share * w.v[i].share, depth + 1);
	}
	l->nchain = kept;
}

/* Finds stores on the likeliest way. */
static void find_stores(struct paths *p, const struct estimate_proc *proc, uint32_t block,
			uint32_t k, struct culprit_case *c)
{
	double share = 1;
	struct ways w;

	for (int left = STORE_INSNS; left > 0 && c->nstores < CASE_STORES;) {
		for (; k > 0 && left > 0 && c->nstores < CASE_STORES; left--) {
			const struct fact *f = paths_fact(p, proc, block, --k);

			if (f && f->store)
				c->store[c->nstores++] = (struct case_before){ f, share, 0 };
		}
		ways_into(p, proc, block, &w);
		if (!w.n)
			return;
		for (unsigned i = 1; i < w.n; i++)
			if (w.v[i].share > w.v[0].share)
				w.v[0] = w.v[i];
		proc = w.v[0].proc;
		block = w.v[0].block;
		k = proc->g.block[block].ninsn;
		left--;
	}
}

void paths_case(struct paths *p, const struct estimate_proc *proc, uint32_t block, uint32_t k,
		struct culprit_case *c)
{
	struct look l = { .p = p, .c = c, .most = (unsigned)c->machine->retire };

	c->fact = paths_placed(p, proc, block, k);
	if (!c->fact)
		return;
	look_back(&l, proc, block, k, 1, 0);
	add_suspect(c, c->fact, 1, UINT_MAX);
	if (c->fact->store)
		find_stores(p, proc, block, k, c);
}
