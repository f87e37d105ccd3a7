/* SPDX-License-Identifier: MIT */
#include "support/estimates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cfg/graph.h"
#include "cpu/penalties.h"
#include "estimate/anchor.h"
#include "x86/insn.h"

#define ELSEWHERE 0x10 /* a site of another program, whose time tells what a sample stands for */

static const uint32_t caller_edges[][2] = { { 0, 2 }, { 2, 3 }, { 2, 2 }, { 2, 4 },
					    { 3, 5 }, { 4, 5 }, { 5, 1 } };
static const double caller_shares[] = { 1, 0.025, 0.9, 0.075, 1, 1, 1 };
static const double caller_runs[] = { 100, 100, 1000, 25, 75, 100 };
static const uint32_t callee_edges[][2] = { { 0, 2 }, { 2, 1 } };
static const double callee_shares[] = { 1, 1 };
static const double callee_runs[] = { 25, 0, 25 };
static const struct site seen = { .observed = 1000000, .windows = 1000000 };

static void must(bool succeeded)
{
	if (!succeeded)
		abort();
}

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

static void add_proc(struct estimate *e, const uint32_t (*edge)[2], const double *share,
		     uint32_t nedges, const double *runs, uint32_t nblocks)
{
	struct estimate_proc *p = &e->proc[e->nproc++];
	struct cfg *g = &p->g;

	p->first = e->nblocks;
	e->nblocks += nblocks;
	g->nblocks = g->ninsns = nblocks;
	g->nedges = nedges;
	g->block = zeroed(nblocks, sizeof(*g->block));
	g->edge = zeroed(nedges, sizeof(*g->edge));
	p->site = zeroed(nblocks, sizeof(struct site *));
	p->samples = zeroed(nblocks, sizeof(double));
	p->observed = zeroed(nblocks, sizeof(double));
	p->share = zeroed(nedges, sizeof(double));
	p->block = zeroed(nblocks, sizeof(*p->block));
	p->edge = zeroed(nedges, sizeof(*p->edge));
	p->alone = zeroed(nblocks, sizeof(*p->alone));
	for (uint32_t i = 0; i < nedges; i++) {
		g->edge[i] = (struct cfg_edge){ .from = edge[i][0],
						.to = edge[i][1],
						.kind = edge[i][0] ? CFG_FALL : CFG_ENTER };
		p->share[i] = share[i];
	}
	memcpy(p->observed, runs, nblocks * sizeof(*runs));
	for (uint32_t b = CFG_FIRST_BLOCK; b < nblocks; b++) {
		g->block[b] = (struct cfg_block){ .insn = b, .ninsn = 1 };
		p->site[b] = &seen;
	}
	if (!graph_link(g) || !graph_close(g) || !graph_classes(g))
		abort();
}

struct estimate estimates_program(double slow)
{
	struct estimate e = { .scale = 1 };

	e.proc = zeroed(2, sizeof(*e.proc));
	e.call = zeroed(1, sizeof(*e.call));
	add_proc(&e, caller_edges, caller_shares, 7, caller_runs, CALLER_BLOCKS);
	add_proc(&e, callee_edges, callee_shares, 2, callee_runs, CALLEE_BLOCKS);
	e.call[e.ncalls++] = (struct estimate_call){ CALLER, 3, CALLEE, 1 };
	e.proc[CALLER].observed[3] *= slow;
	for (uint32_t b = 0; b < CALLEE_BLOCKS; b++)
		e.proc[CALLEE].observed[b] *= slow;
	if (parts_make(&e))
		abort();
	return e;
}

double estimates_f(const struct estimate *e, int proc, uint32_t b)
{
	return e->proc[proc].block[b].f;
}

bool estimates_near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

void estimates_sample(struct estimates_sampled *m, int proc, uint32_t b, double cycles)
{
	struct estimate_proc *p = &m->e.proc[proc];
	struct site *s = &m->site[p->first + b];

	s->samples = (uint64_t)(p->block[b].f * ESTIMATES_RUNS * cycles / ESTIMATES_SAMPLE + 0.5);
	p->samples[b] = (double)s->samples;
}

static void place(struct estimate_proc *p, uint64_t from)
{
	p->g.insn = zeroed(p->g.ninsns, sizeof(*p->g.insn));
	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
		uint64_t at = from + b - CFG_FIRST_BLOCK;

		p->g.insn[b] = (struct cfg_insn){ .addr = at, .len = 1 };
		p->g.block[b].start = at;
		p->g.block[b].end = at + 1;
	}
}

static const struct estimate_range ranges[] = {
	{ .proc = CALLEE, .start = ESTIMATES_CALLEE_AT, .end = ESTIMATES_CALLEE_AT + 1 },
	{ .proc = CALLER, .start = ESTIMATES_CALLER_AT, .end = ESTIMATES_CALLER_AT + 4 },
};

struct estimates_sampled *estimates_sampled(bool joined)
{
	struct estimates_sampled *m = zeroed(1, sizeof(*m));
	struct err err = { 0 };
	struct site *s;

	m->e = estimates_program(1);
	m->e.ncalls = joined;
	m->e.range = zeroed(2, sizeof(ranges[0]));
	memcpy(m->e.range, ranges, sizeof(ranges));
	m->e.nranges = 2;
	must(!walk_estimate(&m->e, &err));
	must(!profile_init(&m->p, &err));
	profile_run(&m->p)->unit = strdup("cycles");
	s = profile_site(&m->p, (struct site_id){ .addr = ELSEWHERE });
	s->samples = 1000;
	s->time = 1000 * ESTIMATES_SAMPLE;
	place(&m->e.proc[CALLER], ESTIMATES_CALLER_AT);
	place(&m->e.proc[CALLEE], ESTIMATES_CALLEE_AT);
	for (int i = 0; i < 2; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < m->e.proc[i].g.nblocks; b++) {
			s = &m->site[m->e.proc[i].first + b];
			s->observed = s->windows = 1000000;
			m->e.proc[i].site[b] = s;
			estimates_sample(m, i, b, ESTIMATES_CYCLES);
		}
	return m;
}

void estimates_drop(struct estimates_sampled *m)
{
	profile_fini(&m->p);
	estimate_fini(&m->e);
	free(m);
}

void estimates_take(struct estimates_sampled *m, double times)
{
	profile_site(&m->p, (struct site_id){ .addr = ELSEWHERE })->time *= times;
}

void estimates_mispredict(struct estimates_sampled *m)
{
	struct site *s = &m->site[2];
	double wrong = 0.18 * PROGRAM_INSNS / 1000 / culprit_machine(NULL)->mispredict;

	s->cls = INSN_BRANCH;
	s->taken = (uint64_t)((double)s->observed * (1 - wrong) + 0.5);
}

void estimates_anchor(struct estimates_sampled *m)
{
	const struct estimate_source src = { .profile = &m->p };
	struct err err = { 0 };

	must(!parts_make(&m->e)); /* of these samples */
	must(!anchor_estimate(&m->e, &src, &err));
}
