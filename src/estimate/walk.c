/* SPDX-License-Identifier: MIT */
/*
 * Flow from branch outcomes: the frequency of a block is the sum of what flows in along its edges,
 * that of a procedure the sum of its calls.
 *
 * f(b) = (1 - l) (sum of f(from) share(edge) + calls + unexplained(b)) + l observed(b)
 *
 * Observations alone are weighted by time, but hardly so within the length of a window. Flow alone
 * is right about nearby blocks, but amplifies the errors of shares over long distances (a loop that
 * was never seen to end has no frequency at all). l, a block's instructions over REACH, sets the
 * distance from which on observations are believed rather than flow. Where more was observed than
 * known flow explains (calls through pointers, jumps to unknown places) the difference enters as
 * additional flow.
 *
 * Confidence: a result that does not depend on whether observations or flow are believed is likely
 * right. The frequencies are estimated also with the reach of a window, and with a far one.
 * Confidence is high where both agree with the estimate, apart from one factor for the whole
 * program, and with the unweighted observations, and where there were enough windows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantile.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"

#define REACH 500.0 /* instructions over which flow is believed */
#define REACH_NEAR 128.0
#define REACH_FAR 50000.0
/* largest frequency, as a multiple of the observed one: it bounds recursion that seems endless */
#define MOST_SLOWER 30.0
#define UNSEEN 3.0	/* executions in windows that may be a coincidence */
#define ENOUGH 1000.0	/* number of windows from which observations are certain */
#define UNEXPLAINED 0.2 /* part of the observations; smaller unexplained differences are noise */
#define SWEEPS 100
#define OWN_SCALE 30.0 /* samples from which a part has a scale of its own */
#define WORK_PER_BLOCK 1000ULL
#define SETTLED 1e-5

struct flow_in {
	uint32_t from;
	double share;
};

/* Terms of a block's equation: f is (keep * (source + inflow) + believed) / rest, and at most
 * `most`. */
struct flow_node {
	double source;
	double keep, believed; /* 1 - l, and l * observed */
	/* 1, less the share of the block's flow that returns to it at once */
	double rest;
	double most;
};

struct walk {
	struct estimate *e;
	size_t n;
	double *f;
	double *o, *back; /* observations; share of the flow from a block to itself */
	struct flow_node *node;
	/* n + 1 indices into `in`; flows from a block to itself are removed at the end */
	size_t *first;
	struct flow_in *in;
	size_t *calls; /* by procedure: its first call in e->call */
	bool *dirty;   /* by procedure: flow into it has changed */
	uint64_t work; /* number of block updates */
};

static size_t node(const struct estimate_proc *p, uint32_t b)
{
	return p->first + b;
}

static bool flows(const struct cfg_edge *e)
{
	return e->to != CFG_EXIT_BLOCK && e->kind != CFG_VIRTUAL && e->kind != CFG_UNWIND &&
	       e->kind != CFG_FOUND;
}

/* Calls fn(from, to, share) for each edge and call. */
static void each_flow(struct walk *w, void (*fn)(struct walk *, size_t, size_t, double))
{
	const struct estimate *e = w->e;

	for (size_t i = 0; i < e->nproc; i++) {
		const struct estimate_proc *p = &e->proc[i];

		for (uint32_t k = 0; k < p->g.nedges; k++)
			if (flows(&p->g.edge[k]))
				fn(w, node(p, p->g.edge[k].from), node(p, p->g.edge[k].to),
				   p->share[k]);
	}
	for (size_t i = 0; i < e->ncalls; i++) {
		const struct estimate_call *c = &e->call[i];

		fn(w, node(&e->proc[c->from_proc], c->from_block),
		   node(&e->proc[c->to_proc], CFG_ENTRY_BLOCK), c->share);
	}
}

static void count_in(struct walk *w, size_t from, size_t to, double share)
{
	(void)from;
	(void)share;
	w->first[to + 1]++;
}

static void add_in(struct walk *w, size_t from, size_t to, double share)
{
	w->in[w->first[to]++] = (struct flow_in){ (uint32_t)from, share };
}

/* Indexes the calls, which are sorted by caller. */
static int index_calls(struct walk *w)
{
	const struct estimate *e = w->e;

	w->calls = calloc(e->nproc + 2, sizeof(*w->calls));
	w->dirty = calloc(e->nproc + 1, sizeof(*w->dirty));
	if (!w->calls || !w->dirty)
		return -1;
	for (size_t i = 0; i < e->ncalls; i++)
		w->calls[e->call[i].from_proc + 1]++;
	for (size_t i = 0; i < e->nproc; i++)
		w->calls[i + 1] += w->calls[i];
	return 0;
}

static int make_flows(struct walk *w)
{
	w->first = calloc(w->n + 2, sizeof(*w->first));
	if (!w->first)
		return -1;
	each_flow(w, count_in);
	for (size_t i = 0; i < w->n; i++)
		w->first[i + 1] += w->first[i];
	w->in = calloc(w->first[w->n] + 1, sizeof(*w->in));
	if (!w->in)
		return -1;
	each_flow(w, add_in);
	for (size_t i = w->n; i > 0; i--)
		w->first[i] = w->first[i - 1];
	w->first[0] = 0;
	return 0;
}

/* Different windows that saw the block: those of most of its instructions. */
static double windows_of(const struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];
	uint64_t most = 0;

	for (uint32_t i = k->insn; i < k->insn + k->ninsn; i++)
		if (p->site[i] && p->site[i]->windows > most)
			most = p->site[i]->windows;
	return (double)most;
}

/* Whether control may enter b from an unknown place. */
static bool is_open(const struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];

	if (b == CFG_ENTRY_BLOCK)
		return true;
	for (uint32_t i = k->in; i < k->in + k->nin; i++)
		if (p->g.edge[p->g.in[i]].kind == CFG_UNWIND ||
		    p->g.edge[p->g.in[i]].kind == CFG_FOUND)
			return true;
	return !k->nin;
}

/* The leak of a block. Flow from a block that few windows saw is noise, and does not reach
 * beyond a window. */
static double leak(const struct estimate_proc *p, uint32_t b, double reach)
{
	double part = fmin(1, windows_of(p, b) / ENOUGH);

	return fmin(p->g.block[b].ninsn / fmax(REACH_NEAR, part * reach), 1);
}

/* Sets the sources to the observations that exceed the inflow. */
static void make_sources(struct walk *w)
{
	for (size_t i = 0; i < w->e->nproc; i++) {
		const struct estimate_proc *p = &w->e->proc[i];

		for (uint32_t b = 0; b < p->g.nblocks; b++) {
			struct flow_node *d = &w->node[node(p, b)];
			double o = p->observed[b];

			w->o[node(p, b)] = o;
			d->most = b < CFG_FIRST_BLOCK ? INFINITY : MOST_SLOWER * o + UNSEEN;
			d->source = is_open(p, b) ? o : 0;
		}
	}
	for (size_t v = 0; v < w->n; v++) {
		struct flow_node *d = &w->node[v];

		for (size_t k = w->first[v]; k < w->first[v + 1]; k++)
			d->source -= w->in[k].share * w->o[w->in[k].from];
		if (d->source < UNEXPLAINED * w->o[v])
			d->source = 0;
	}
}

/* Removes flow from a block to itself, which is solved for instead of followed. */
static void take_back(struct walk *w)
{
	size_t to = 0, k = 0;

	for (size_t v = 0; v < w->n; v++) {
		for (; k < w->first[v + 1]; k++)
			if (w->in[k].from == v)
				w->back[v] += w->in[k].share;
			else
				w->in[to++] = w->in[k];
		w->first[v + 1] = to;
	}
}

static void begin(struct walk *w, double reach)
{
	memcpy(w->f, w->o, w->n * sizeof(*w->f));
	for (size_t i = 0; i < w->e->nproc; i++) {
		const struct estimate_proc *p = &w->e->proc[i];

		for (uint32_t b = 0; b < p->g.nblocks; b++) {
			size_t v = node(p, b);
			double l = leak(p, b, reach);
			struct flow_node *d = &w->node[v];

			d->keep = 1 - l;
			d->believed = l * w->o[v];
			d->rest = fmax(1 - d->keep * w->back[v], 1e-9);
		}
	}
}

/* Updates one block. Returns its previous f. */
static inline double update(struct walk *w, size_t v)
{
	const struct flow_node *d = &w->node[v];
	double in = d->source, f, before = w->f[v];

	for (size_t k = w->first[v]; k < w->first[v + 1]; k++)
		in += w->in[k].share * w->f[w->in[k].from];
	f = d->keep * in + d->believed;
	if (d->rest !=
	    /* the limit is rarely reached; the division is the slowest step, and each block
	     * waits for the one before */
	    1)
		f /= d->rest;
	w->f[v] = f < d->most ? f : d->most;
	return before;
}

static bool differs(double f, double before)
{
	return fabs(f - before) / (fabs(f) + 1) >= SETTLED;
}

/* Updates a procedure's blocks until nothing changes, for at most SWEEPS sweeps. Returns whether
 * the first sweep changed anything. */
static bool settle_proc(struct walk *w, const struct estimate_proc *p)
{
	size_t from = node(p, 0), end = from + p->g.nblocks;
	bool first = false, changed = true;

	for (int i = 0; i < SWEEPS && changed; i++) {
		changed = false;
		for (size_t v = from; v < end; v++) {
			double before = update(w, v);

			changed = changed || differs(w->f[v], before);
		}
		w->work += p->g.nblocks;
		first = first || (!i && changed);
	}
	return first;
}

/* Updates procedures; where one changed, the procedures that it calls are updated again. */
static void settle(struct walk *w, double reach)
{
	const struct estimate *e = w->e;
	bool changed = true;

	w->work = 0;
	begin(w, reach);
	memset(w->dirty, 1, e->nproc);
	while (changed && w->work < WORK_PER_BLOCK * w->n) {
		changed = false;
		for (uint32_t i = 0; i < e->nproc; i++) {
			if (!w->dirty[i])
				continue;
			w->dirty[i] = false;
			if (!settle_proc(w, &e->proc[i]))
				continue;
			changed = true;
			w->dirty[i] = true;
			for (size_t k = w->calls[i]; k < w->calls[i + 1]; k++)
				w->dirty[e->call[k].to_proc] = true;
		}
	}
}

/* Confidence of frequencies. */

/* The median of log(other / f), by samples, over a part, or with PARTS_ALL over all parts. v:
 * room for all blocks. */
#define PARTS_ALL UINT32_MAX

static double common_factor(const struct walk *w, const double *other, uint32_t part,
			    struct weighted *v)
{
	const struct parts *k = w->e->parts;
	uint32_t from = part == PARTS_ALL ? 0 : k->first[part];
	uint32_t to = part == PARTS_ALL ? k->first[k->n] : k->first[part + 1];
	size_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct estimate_proc *p = &w->e->proc[k->block[i].proc];
		uint32_t b = k->block[i].block;
		size_t at = node(p, b);

		if (p->samples[b] > 0 && w->f[at] > 0 && other[at] > 0)
			v[n++] = (struct weighted){ log(other[at] / w->f[at]), p->samples[b] };
	}
	return quantile(v, n, 0.5);
}

/* Observations without their weights. */
static void observed_raw(const struct walk *w, double *raw)
{
	for (size_t i = 0; i < w->e->nproc; i++) {
		const struct estimate_proc *p = &w->e->proc[i];

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			const struct cfg_block *k = &p->g.block[b];
			double sum = 0;

			for (uint32_t j = k->insn; j < k->insn + k->ninsn; j++)
				sum += p->site[j] ? (double)p->site[j]->observed : 0;
			raw[node(p, b)] = k->ninsn ? sum / k->ninsn : 0;
		}
	}
}

/* Raises doubt[] of a part's blocks to their deviation from `other`. */
static void doubt_part(const struct walk *w, const double *other, uint32_t part, double factor,
		       double *doubt)
{
	const struct parts *k = w->e->parts;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++) {
		size_t v = node(&w->e->proc[k->block[i].proc], k->block[i].block);

		if (w->f[v] > 0 && other[v] > 0)
			doubt[v] = fmax(doubt[v], fabs(log(other[v] / w->f[v]) - factor));
		else
			doubt[v] = INFINITY;
	}
}

/* Raises doubt by deviations at one scale for the program, and separately by those at a scale for
 * each part; parts with few samples tell little about their scale. */
static void doubt_by(const struct walk *w, const double *other, double *doubt, double *alone)
{
	const struct parts *k = w->e->parts;
	struct weighted *v = calloc(w->n + 1, sizeof(*v));
	double all = v ? common_factor(w, other, PARTS_ALL, v) : 0;

	for (uint32_t i = 0; i < k->n; i++) {
		bool own = v && k->part[i].samples >= OWN_SCALE;

		doubt_part(w, other, i, all, doubt);
		doubt_part(w, other, i, own ? common_factor(w, other, i, v) : all, alone);
	}
	free(v);
}

static uint8_t rate(double doubt, double windows)
{
	double error = sqrt(doubt * doubt + (windows > 0 ? 1 / windows : 1));

	return confidence_of(error);
}

static void give(struct walk *w, const double *doubt, const double *alone)
{
	for (size_t i = 0; i < w->e->nproc; i++) {
		struct estimate_proc *p = &w->e->proc[i];

		for (uint32_t b = 0; b < p->g.nblocks; b++) {
			size_t v = node(p, b);

			p->block[b] = (struct estimate_value){ w->f[v],
							       rate(doubt[v], windows_of(p, b)) };
			p->alone[b] = rate(alone[v], windows_of(p, b));
		}
		for (uint32_t k = 0; k < p->g.nedges; k++) {
			const struct estimate_value *from = &p->block[p->g.edge[k].from];

			p->edge[k] =
				(struct estimate_value){ from->f * p->share[k], from->confidence };
		}
	}
}

int walk_estimate(struct estimate *e, struct err *err)
{
	struct walk w = { .e = e, .n = e->nblocks };
	double *other = calloc(w.n + 1, sizeof(double)), *doubt = calloc(w.n + 1, sizeof(double));
	double *f = calloc(w.n + 1, sizeof(double)), *alone = calloc(w.n + 1, sizeof(double));
	int rc = -1;

	w.f = f;
	w.o = calloc(w.n + 1, sizeof(double));
	w.back = calloc(w.n + 1, sizeof(double));
	w.node = calloc(w.n + 1, sizeof(*w.node));
	if (other && doubt && alone && f && w.o && w.back && w.node && !make_flows(&w) &&
	    !index_calls(&w)) {
		make_sources(&w);
		take_back(&w);
		settle(&w, REACH);
		for (int i = 0; i < 2; i++) {
			w.f = other;
			settle(&w, i ? REACH_FAR : REACH_NEAR);
			w.f = f;
			doubt_by(&w, other, doubt, alone);
		}
		observed_raw(&w, other);
		doubt_by(&w, other, doubt, alone);
		give(&w, doubt, alone);
		rc = 0;
	}
	free(f);
	free(other);
	free(doubt);
	free(alone);
	free(w.o);
	free(w.back);
	free(w.node);
	free(w.first);
	free(w.in);
	free(w.calls);
	free(w.dirty);
	return rc ? err_no_memory(err, "estimates") : 0;
}
