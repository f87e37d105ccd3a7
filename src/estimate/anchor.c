/* SPDX-License-Identifier: MIT */
#include "estimate/anchor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "observe/tallies.h"

#define USUAL_IPC 1.5 /* instructions a cycle: geometric mean of twelve programs' procedures */
#define TIME 0.03 /* what one procedure's time is worth; the unit is 1 / variance of a logarithm */
#define ENOUGH 50.0 /* samples: less is worth less */
#define CALLS 30.0  /* what it is worth that all windows of one of two procedures saw the other */
#define NEAR 0.1    /* how close frequencies within a procedure are */
#define HOLD 1e-3   /* what the common factor is worth to each */
#define SWEEPS 300
#define SETTLED 1e-4

struct ratio {
	double value, weight;
};

static int by_value(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

double anchor_ghz(const char *cpu)
{
	const char *at = cpu ? strrchr(cpu, '@') : NULL;
	double ghz = at ? strtod(at + 1, NULL) : 0;

	return ghz > 0.1 && ghz < 20 ? ghz : ANCHOR_GHZ;
}

double anchor_cycles(const struct profile *p)
{
	const struct run *run = p->nrun ? &p->run[0] : NULL;
	double time = 0, samples = 0;
	const struct site *s;

	SITES_EACH(&p->sites, s)
	{
		time += s->time;
		samples += (double)s->samples;
	}
	if (!run || samples <= 0 || time <= 0)
		return 1;
	if (run->unit && strcmp(run->unit, "cycles") == 0)
		return time / samples;
	return time / samples * anchor_ghz(run->cpu);
}

static double anchor_ratio(const struct estimate *e)
{
	struct ratio *r = calloc(e->nblocks + 1, sizeof(*r));
	double all = 0, sum = 0, ratio = 1;
	size_t n = 0;

	for (size_t i = 0; r && i < e->nproc; i++) {
		const struct estimate_proc *p = &e->proc[i];

		for (uint32_t b = 0; b < p->g.nblocks; b++) {
			double least = p->least[b] * p->block[b].f;

			if (p->samples[b] < ANCHOR_SAMPLES || least <= 0)
				continue;
			r[n++] = (struct ratio){ p->samples[b] / least, p->samples[b] };
			all += p->samples[b];
		}
	}
	if (n)
		qsort(r, n, sizeof(*r), by_value);
	for (size_t i = 0; i < n && sum <= ANCHOR_QUANTILE * all; i++) {
		sum += r[i].weight;
		ratio = r[i].value;
	}
	free(r);
	return ratio;
}

/* By procedure: the logarithm of its factor, and what says so, apart from calls. */
struct anchor_node {
	double x, weight, sum; /* sum: of weight * logarithm */
	double next_weight, next_sum;
	double windows;
};

struct anchor {
	struct estimate *e;
	struct anchor_node *node;
	double *link; /* by call */
	double common;
};

static double windows_of(const struct estimate_proc *p)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < p->g.ninsns; i++)
		if (p->site[i] && p->site[i]->windows > most)
			most = p->site[i]->windows;
	return (double)most;
}

static void tell(struct anchor_node *n, double x, double weight)
{
	n->weight += weight;
	n->sum += weight * x;
}

/* Each procedure's time, and what they have in common. */
static void tell_times(struct anchor *a, double cycles)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < a->e->nproc; i++) {
		const struct estimate_proc *p = &a->e->proc[i];
		double samples = 0, insns = 0, x;

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			samples += p->samples[b];
			insns += p->block[b].f * p->g.block[b].ninsn;
		}
		a->node[i].windows = windows_of(p);
		if (samples <= 0 || insns <= 0)
			continue;
		x = log(samples * cycles * USUAL_IPC / insns);
		tell(&a->node[i], x, TIME * fmin(samples / ENOUGH, 1));
		all += samples;
		sum += samples * x;
	}
	a->common = all > 0 ? sum / all : 0;
}

/* The tallies' part of a group, of relative frequencies. */
static double walked(const struct anchor *a, const struct tally_group *g)
{
	struct estimate_at at;
	double sum = 0;

	for (size_t i = 0; i < g->n; i++)
		if (estimate_find(a->e, g->tally[i]->key.image, g->tally[i]->key.addr, &at))
			sum += fabs((double)g->tally[i]->step) * at.proc->block[at.block].f;
	return sum;
}

static void tell_tallies(struct anchor *a, const struct tally_group *g)
{
	double sum = walked(a, g);
	double weight = 1 / (NEAR * NEAR + g->error * g->error) / (double)g->n;
	struct estimate_at at;

	for (size_t i = 0; i < g->n && sum > 0; i++)
		if (estimate_find(a->e, g->tally[i]->key.image, g->tally[i]->key.addr, &at))
			tell(&a->node[at.proc - a->e->proc], log(g->advance / sum), weight);
}

/* By the share of windows that went over, of those that saw the one of both that fewer saw. */
static void make_links(struct anchor *a)
{
	for (size_t i = 0; i < a->e->ncalls; i++) {
		const struct estimate_call *c = &a->e->call[i];
		double over = c->share * a->e->proc[c->from_proc].observed[c->from_block];
		double fewer = fmin(a->node[c->from_proc].windows, a->node[c->to_proc].windows);

		a->link[i] = CALLS * fmin(over / fmax(fewer, 1), 1);
	}
}

static void pull(struct anchor_node *n, const struct anchor_node *to, double weight)
{
	n->next_weight += weight;
	n->next_sum += weight * to->x;
}

/* How much it changed. */
static double sweep(struct anchor *a)
{
	double worst = 0;

	for (size_t i = 0; i < a->e->nproc; i++) {
		a->node[i].next_weight = a->node[i].weight + HOLD;
		a->node[i].next_sum = a->node[i].sum + HOLD * a->common;
	}
	for (size_t i = 0; i < a->e->ncalls; i++) {
		struct anchor_node *from = &a->node[a->e->call[i].from_proc];
		struct anchor_node *to = &a->node[a->e->call[i].to_proc];

		pull(from, to, a->link[i]);
		pull(to, from, a->link[i]);
	}
	for (size_t i = 0; i < a->e->nproc; i++) {
		struct anchor_node *n = &a->node[i];
		double x = (n->x + n->next_sum / n->next_weight) / 2;

		worst = fmax(worst, fabs(x - n->x));
		n->x = x;
	}
	return worst;
}

static void give(struct anchor *a)
{
	for (size_t i = 0; i < a->e->nproc; i++) {
		struct estimate_proc *p = &a->e->proc[i];
		double factor = exp(a->node[i].x);

		for (uint32_t b = 0; b < p->g.nblocks; b++)
			p->block[b].f *= factor;
		for (uint32_t k = 0; k < p->g.nedges; k++)
			p->edge[k].f *= factor;
	}
	a->e->scale = 1;
}

int anchor_estimate(struct estimate *e, const struct profile *p, struct err *err)
{
	struct anchor a = { .e = e };
	struct tally_groups g = { 0 };
	int rc = -1;

	a.node = calloc(e->nproc + 1, sizeof(*a.node));
	a.link = calloc(e->ncalls + 1, sizeof(*a.link));
	if (!a.node || !a.link || tallies_groups(&g, p))
		goto out;
	if (!g.n) {
		e->scale *= anchor_ratio(e);
	} else {
		tell_times(&a, anchor_cycles(p));
		for (size_t i = 0; i < g.n; i++)
			tell_tallies(&a, &g.group[i]);
		make_links(&a);
		for (size_t i = 0; i < e->nproc; i++)
			a.node[i].x = a.common;
		for (int i = 0; i < SWEEPS && sweep(&a) > SETTLED; i++)
			;
		give(&a);
	}
	rc = 0;
out:
	tallies_groups_free(&g);
	free(a.node);
	free(a.link);
	return rc ? err_set(err, ERR_FAILED, "no memory for estimates") : 0;
}
