/* SPDX-License-Identifier: MIT */
#include "estimate/anchor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantile.h"
#include "estimate/estimate_priv.h"
#include "estimate/wrong.h"
#include "observe/tallies.h"

#define UNDISTURBED 0.7 /* quantile, by executions, of the times of a procedure's instructions */
#define UNSEEN 0.3	/* samples of an instruction that has none */
#define STRAY 0.003	/* of an instruction's samples, those that fall on its neighbours */
#define ENOUGH \
	100.0	   /* samples of a procedure: of less, the mean time of an instruction says more */
#define TOGETHER 8 /* instructions that may retire at once: a sample of them falls on one */
#define LONG \
	32 /* instructions of a block: of a shorter one as many may be all that waits for one of them */
#define MEAN_CYCLES 0.72 /* that is usual */
#define MEAN_WORTH 0.3	 /* as part of what the quantile is */
#define TIME 1.0	 /* what times are worth; the unit is 1 / variance of a logarithm */
#define WHOLE 0.7	 /* of that, what the time of the whole program is */
#define FAR 2.5 /* logarithm: the whole program's time counts half where it is so far off */
#define EACH_CYCLES 0.18 /* of an instruction, on average, where no branch is mispredicted */
#define WRONG_CYCLES 20	 /* of a branch that is */
#define NEAR 0.1	 /* how close frequencies within a procedure are */
#define APART 0.3	 /* … those of different ones */
#define WINDOWS 5.0	 /* variance of a frequency, times the windows that saw it */
#define WILD 1.5	 /* logarithm: what is off by more from times is not what it seems */
#define DOUBT 0.6	 /* of what times say, where they differ from the other procedures' */

double anchor_ghz(const struct run *run)
{
	const char *at = run && run->cpu ? strrchr(run->cpu, '@') : NULL;
	double ghz = at ? strtod(at + 1, NULL) : 0;

	if (run && run->clock)
		ghz = (double)run->clock / 1e9;
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
	return time / samples * anchor_ghz(run);
}

/* By procedure: what makes executions of its frequencies, as a logarithm, and what that is worth. */
struct anchor_node {
	double time, time_weight; /* by its time; 0: it has none */
	double part;		  /* of ENOUGH samples */
	double weight, sum;	  /* of what is counted; sum: of weight * logarithm */
};

struct anchor {
	struct estimate *e;
	struct anchor_node *node;
};

static double samples_at(const struct estimate_proc *p, uint32_t i)
{
	return p->site[i] ? (double)p->site[i]->samples : 0;
}

/*
 * What is an instruction's of the samples of its block. Of a short one that which has most may be what is waited for, so
 * that all others have even parts of the rest, but for what strayed there: single ones have a sample or two by chance. Of
 * a long one groups that may retire together have even parts of theirs.
 */
static double samples_of(const struct estimate_proc *p, const struct cfg_block *k, uint32_t i)
{
	bool is_long = k->ninsn >= LONG;
	uint32_t from = is_long ? i - (i - k->insn) % TOGETHER : k->insn, end = k->insn + k->ninsn;
	uint32_t to = is_long && from + TOGETHER < end ? from + TOGETHER : end;
	double sum = 0, most = 0;

	for (uint32_t j = from; j < to; j++) {
		sum += samples_at(p, j);
		most = fmax(most, samples_at(p, j));
	}
	if (is_long)
		return (sum + UNSEEN) / (to - from);
	if (samples_at(p, i) >= most)
		return most + UNSEEN;
	return (fmax(sum - most - STRAY * most, 0) + UNSEEN) / (k->ninsn - 1);
}

/*
 * The time that an execution takes where nothing holds it up, in samples over frequency: what most instructions
 * take at most. The few that take all of the time (what is waited for, and what the samples of many fall
 * on) are beyond it, and so it differs by much less than the mean does. 0: nothing ran. -1 without memory.
 */
static double undisturbed(const struct estimate_proc *p)
{
	struct weighted *v = calloc((size_t)p->g.ninsns + 1, sizeof(*v));
	double time;
	size_t n = 0;

	if (!v)
		return -1;
	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
		const struct cfg_block *k = &p->g.block[b];
		double f = p->block[b].f;

		for (uint32_t i = k->insn; f > 0 && i < k->insn + k->ninsn; i++)
			v[n++] = (struct weighted){ samples_of(p, k, i) / f, f };
	}
	time = quantile(v, n, UNDISTURBED);
	free(v);
	return time;
}

static int tell_times(struct anchor *a, double cycles)
{
	for (size_t i = 0; i < a->e->nproc; i++) {
		const struct estimate_proc *p = &a->e->proc[i];
		double samples = 0, insns = 0, part, time;

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			samples += p->samples[b];
			insns += p->block[b].f * p->g.block[b].ninsn;
		}
		if (samples <= 0 || insns <= 0)
			continue;
		time = undisturbed(p);
		if (time < 0)
			return -1;
		if (time <= 0)
			continue;
		part = fmin(samples / ENOUGH, 1);
		a->node[i].part = part;
		a->node[i].time = part * log(time * cycles / ANCHOR_CYCLES) +
				  (1 - part) * log(samples / insns * cycles / MEAN_CYCLES);
		a->node[i].time_weight = samples * (part + (1 - part) * MEAN_WORTH);
	}
	return 0;
}

/* The mean of what times say; NAN: there are none. */
static double mean_time(const struct anchor *a)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < a->e->nproc; i++) {
		all += a->node[i].time_weight;
		sum += a->node[i].time_weight * a->node[i].time;
	}
	return all > 0 ? sum / all : NAN;
}

/* What the time of the whole program says, if instructions take as long as is usual, and branches that are mispredicted
 * cost what they usually do. NAN: nothing ran. */
static double whole_time(const struct anchor *a, double cycles)
{
	double samples = 0, each = 0, wrong = 0;

	for (size_t i = 0; i < a->e->nproc; i++) {
		const struct estimate_proc *p = &a->e->proc[i];

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			const struct cfg_block *k = &p->g.block[b];
			const struct site *last;

			if (!k->ninsn)
				continue;
			last = p->site[k->insn + k->ninsn - 1];
			samples += p->samples[b];
			each += p->block[b].f * k->ninsn;
			wrong += last ? p->block[b].f * wrong_predicted(last, last->cls) : 0;
		}
	}
	return samples > 0 && each > 0
		       ? log(samples * cycles / (EACH_CYCLES * each + WRONG_CYCLES * wrong))
		       : NAN;
}

/* Both; the more the whole takes beyond what branches explain, the less it counts: the program waits for something else. */
static double all_times(double procedures, double whole)
{
	double apart = whole - procedures;

	return procedures + WHOLE * apart / (1 + apart * apart / (FAR * FAR));
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

static double windows_of(const struct estimate_at *at)
{
	const struct cfg_block *k = &at->proc->g.block[at->block];
	uint64_t most = 0;

	for (uint32_t i = k->insn; i < k->insn + k->ninsn; i++)
		if (at->proc->site[i] && at->proc->site[i]->windows > most)
			most = at->proc->site[i]->windows;
	return (double)most;
}

static void tell_tallies(struct anchor *a, const struct tally_group *g, double time)
{
	double sum = walked(a, g), x = sum > 0 ? log(g->advance / sum) : 0;
	struct estimate_at at;

	if (sum <= 0 || fabs(x - time) > WILD)
		return;
	for (size_t i = 0; i < g->n; i++) {
		struct anchor_node *n;
		double weight;

		if (!estimate_find(a->e, g->tally[i]->key.image, g->tally[i]->key.addr, &at))
			continue;
		n = &a->node[at.proc - a->e->proc];
		weight = 1 / (NEAR * NEAR + g->error * g->error + WINDOWS / (windows_of(&at) + 1)) /
			 (double)g->n;
		n->weight += weight;
		n->sum += weight * x;
	}
}

/* The mean of what is counted, procedure by procedure, and of times. */
static double mean_of_all(const struct anchor *a, double time)
{
	double all = TIME, sum = TIME * time;

	for (size_t i = 0; i < a->e->nproc; i++) {
		const struct anchor_node *n = &a->node[i];
		double weight = n->weight > 0 ? 1 / (1 / n->weight + APART * APART) : 0;

		all += weight;
		sum += weight > 0 ? weight * n->sum / n->weight : 0;
	}
	return sum / all;
}

static void lower(struct estimate_value *v, size_t n, uint8_t most)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].confidence > most)
			v[i].confidence = most;
}

/* Where a procedure's times are not like the others', its frequencies may as well not be: what is slow is seen too
 * often. */
static void doubt(struct anchor *a, double time)
{
	for (size_t i = 0; i < a->e->nproc; i++) {
		struct estimate_proc *p = &a->e->proc[i];
		const struct anchor_node *n = &a->node[i];
		double error = DOUBT * n->part * fabs(n->time - time);
		uint8_t most = error > ESTIMATE_LIKELY ? CONFIDENCE_LOW
			       : error > ESTIMATE_SURE ? CONFIDENCE_MEDIUM
						       : CONFIDENCE_HIGH;

		lower(p->block, p->g.nblocks, most);
		lower(p->edge, p->g.nedges, most);
	}
}

int anchor_estimate(struct estimate *e, const struct profile *p, struct err *err)
{
	struct anchor a = { .e = e };
	struct tally_groups g = { 0 };
	int rc = -1;

	a.node = calloc(e->nproc + 1, sizeof(*a.node));
	if (a.node && !tallies_groups(&g, p) && !tell_times(&a, anchor_cycles(p))) {
		double procedures = mean_time(&a);
		double time = all_times(procedures, whole_time(&a, anchor_cycles(p)));

		for (size_t i = 0; i < g.n && isfinite(time); i++)
			tell_tallies(&a, &g.group[i], time);
		if (isfinite(time)) {
			e->scale = exp(mean_of_all(&a, time));
			doubt(&a, procedures);
		}
		rc = 0;
	}
	tallies_groups_free(&g);
	free(a.node);
	return rc ? err_set(err, ERR_FAILED, "no memory for estimates") : 0;
}
