/* SPDX-License-Identifier: MIT */
#include "estimate/anchor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantile.h"
#include "cpu/penalties.h"
#include "estimate/counter.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"
#include "estimate/wrong.h"
#include "observe/tallies.h"

/* quantile, weighted by executions, of the times of a procedure's instructions */
#define UNDISTURBED 0.7
#define UNSEEN 0.3	 /* samples assumed for a block without samples */
#define TIME 1.0	 /* weight of times; the unit is 1 / variance of a logarithm */
#define WHOLE 0.7	 /* weight of the whole program's time, as a part of TIME */
#define FAR 2.5		 /* logarithm of the deviation at which the total time counts half */
#define EACH_CYCLES 0.18 /* mean cycles of an instruction where no branch is mispredicted */
#define APART 0.3	 /* variance between frequencies of different procedures */
#define WINDOWS 5.0	 /* variance of a frequency times the number of windows that saw it */
/* largest logarithm of a counter's ratio to times; beyond it the counter counts something else */
#define WILD 1.5
/* smallest credible ratio: a counter that implies less counts something else */
#define LEAST_CPI 0.1
/* Share of gaps that end in a reset, from which on a loop may have begun anew more than once
 * within the others, too: one that begins anew in half of the time between two windows, or a little
 * less, seems to count slowly. */
#define RESET_OFTEN 0.05
#define USUAL 0.1 /* least variance of a part's scale around the usual one */
#define DOUBT 0.6 /* part of a procedure's deviation in time that lowers the confidence */

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

/* Evidence of times for some blocks: the logarithm of the factor from their frequencies to
 * executions. */
struct anchor_time {
	double scale;	/* by the time that most instructions take */
	double whole;	/* by the usual time of all instructions together; NAN: not known */
	double samples; /* weight of the evidence; 0: nothing is known */
};

struct anchor {
	struct estimate *e;
	struct anchor_time *proc; /* by procedure */
	double cycles;
	const struct culprit_machine *machine;
	struct counter_source *counters;
	bool *counts; /* by procedure: the program counts executions of some instruction of it */
};

/* A range of a program's blocks. */
struct span {
	const struct part_block *block;
	uint32_t n;
};

/* Spreads a block's samples evenly over its instructions, because single instructions have a sample
 * or two by chance. */
static double samples_of(const struct estimate_proc *p, uint32_t block)
{
	return (p->samples[block] + UNSEEN) / p->g.block[block].ninsn;
}

/*
 * Estimates the time that an execution takes where nothing holds it up, in samples over frequency:
 * the time that most instructions do not exceed. The few instructions that take most of the time
 * (those that wait, and those on which the samples of many fall) lie beyond it, so this time varies
 * much less between programs than the mean. 0: nothing ran. -1 without memory.
 */
static double undisturbed(const struct estimate *e, struct span s)
{
	struct weighted *v;
	size_t n = 0;
	double time;

	v = calloc((size_t)s.n + 1, sizeof(*v));
	if (!v)
		return -1;
	for (uint32_t i = 0; i < s.n; i++) {
		const struct estimate_proc *p = &e->proc[s.block[i].proc];
		const struct cfg_block *k = &p->g.block[s.block[i].block];
		double f = p->block[s.block[i].block].f;

		if (f > 0 && k->ninsn)
			v[n++] = (struct weighted){ samples_of(p, s.block[i].block) / f,
						    f * k->ninsn };
	}
	time = quantile(v, n, UNDISTURBED);
	free(v);
	return time;
}

/* Fills in the evidence of a span's times. -1 without memory. */
static int tell_time(const struct anchor *a, struct span s, struct anchor_time *t)
{
	double samples = 0, insns = 0, each = 0, wrong = 0, time;

	*t = (struct anchor_time){ .whole = NAN };
	for (uint32_t i = 0; i < s.n; i++) {
		const struct estimate_proc *p = &a->e->proc[s.block[i].proc];
		uint32_t b = s.block[i].block;
		const struct cfg_block *k = &p->g.block[b];
		const struct site *last;

		if (!k->ninsn)
			continue;
		last = p->site[k->insn + k->ninsn - 1];
		samples += p->samples[b];
		insns += p->block[b].f * k->ninsn;
		wrong += last ? p->block[b].f * wrong_predicted(last, last->cls) : 0;
	}
	if (samples <= 0 || insns <= 0)
		return 0;
	time = undisturbed(a->e, s);
	if (time <= 0)
		return time < 0 ? -1 : 0;
	each = EACH_CYCLES * insns + a->machine->mispredict * wrong;
	t->scale = log(time * a->cycles / ANCHOR_CYCLES);
	t->whole = log(samples * a->cycles / each);
	t->samples = samples;
	return 0;
}

static int tell_procedures(struct anchor *a)
{
	struct part_block *block = calloc(a->e->nblocks + 1, sizeof(*block));
	int rc = block ? 0 : -1;

	for (uint32_t i = 0; i < a->e->nproc && !rc; i++) {
		uint32_t n = 0;

		for (uint32_t b = CFG_FIRST_BLOCK; b < a->e->proc[i].g.nblocks; b++)
			block[n++] = (struct part_block){ i, b };
		rc = tell_time(a, (struct span){ block, n }, &a->proc[i]);
	}
	free(block);
	return rc;
}

/* The mean of the scales that procedures' times imply; NAN: there are none. */
static double mean_time(const struct anchor *a)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < a->e->nproc; i++) {
		const struct anchor_time *t = &a->proc[i];

		all += t->samples;
		sum += t->samples * t->scale;
	}
	return all > 0 ? sum / all : NAN;
}

/* The scale that the time of the whole program implies, if instructions and mispredicted
 * branches cost their usual cycles. NAN: nothing ran. */
static double whole_time(const struct anchor *a)
{
	double samples = 0, each = 0;

	for (size_t i = 0; i < a->e->nproc; i++) {
		const struct anchor_time *t = &a->proc[i];

		if (t->samples > 0 && isfinite(t->whole)) {
			samples += t->samples;
			each += t->samples / exp(t->whole);
		}
	}
	return each > 0 ? log(samples / each) : NAN;
}

/* Combines both scales. The further the whole program's time exceeds what branches explain, the
 * less it counts: the program then waits for something else. */
static double all_times(double procedures, double whole)
{
	double apart = whole - procedures;

	return procedures + WHOLE * apart / (1 + apart * apart / (FAR * FAR));
}

/* The relative frequency of a tally group's part. */
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

/* The mean cycles of an instruction of a part, if the logarithm of its scale is `at`. */
static double cpi_of(const struct anchor *a, uint32_t part, double scale)
{
	const struct parts *k = a->e->parts;
	double insns = 0;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++) {
		const struct estimate_proc *p = &a->e->proc[k->block[i].proc];

		insns += p->block[k->block[i].block].f * p->g.block[k->block[i].block].ninsn;
	}
	return k->part[part].samples * a->cycles / (insns * exp(scale));
}

/* The scale that the times of a part's blocks imply. NAN: none, also without memory. */
static double part_time(const struct anchor *a, uint32_t part)
{
	const struct parts *k = a->e->parts;
	struct span s = { &k->block[k->first[part]], k->first[part + 1] - k->first[part] };
	struct anchor_time t;

	if (tell_time(a, s, &t) || t.samples <= 0 || !isfinite(t.whole))
		return NAN;
	return all_times(t.scale, t.whole);
}

/* Whether a counter can mean the executions of its group: a counter of one object out of many,
 * or of another process, contradicts the time. */
static bool is_possible(const struct anchor *a, const struct tally_group *g, double scale)
{
	struct estimate_at at;

	for (size_t i = 0; i < g->n; i++)
		if (estimate_find(a->e, g->tally[i]->key.image, g->tally[i]->key.addr, &at)) {
			uint32_t part = part_of(a->e, at.proc, at.block);

			if (cpi_of(a, part, scale) < LEAST_CPI ||
			    (!counter_is_own(a->counters, g->tally[i]) &&
			     fabs(scale - part_time(a, part)) > WILD))
				return false;
		}
	return true;
}

/* Adds what a counter of a group says of a part. */
static void tell_part(const struct anchor *a, uint32_t part, const struct part_turns *t)
{
	struct part *k = &a->e->parts->part[part];

	k->counted = true;
	k->weight += 1 / t->variance;
	k->sum += t->scale / t->variance;
}

/* Each of a group's counters tells a part's scale. What loops that often begin anew tell is judged
 * when it is known what an execution takes (culprit/turns.h). -1 without memory. */
static int tell_tallies(const struct anchor *a, const struct tally_group *g)
{
	double sum = walked(a, g), x = sum > 0 ? log(g->advance / sum) : 0;
	struct estimate_at at;

	if (sum <= 0 || !is_possible(a, g, x))
		return 0;
	a->e->counted += g->n;
	for (size_t i = 0; i < g->n; i++) {
		struct part_turns t = { .scale = x, .often = g->resets, .gaps = g->gaps };

		if (!estimate_find(a->e, g->tally[i]->key.image, g->tally[i]->key.addr, &at))
			continue;
		t.part = part_of(a->e, at.proc, at.block);
		t.variance = (g->error * g->error + WINDOWS / (windows_of(&at) + 1)) * (double)g->n;
		if (g->resets > RESET_OFTEN && parts_add_turns(a->e->parts, &t))
			return -1;
		if (g->resets > RESET_OFTEN)
			continue;
		a->counts[at.proc - a->e->proc] = true;
		tell_part(a, t.part, &t);
	}
	return 0;
}

/* The mean of the counted evidence, part by part, and of that of times. *spread: the variance of
 * the parts around it. */
static double mean_of_all(const struct anchor *a, double time, double *spread)
{
	const struct parts *k = a->e->parts;
	double all = TIME, sum = TIME * time, parts = 0, square = 0, mean;

	for (size_t i = 0; i < k->n; i++) {
		const struct part *t = &k->part[i];
		double weight = t->counted ? 1 / (1 / t->weight + APART * APART) : 0;

		all += weight;
		sum += weight > 0 ? weight * t->sum / t->weight : 0;
	}
	mean = sum / all;
	for (size_t i = 0; i < k->n; i++)
		if (k->part[i].counted) {
			parts += k->part[i].samples;
			square += k->part[i].samples *
				  pow(k->part[i].sum / k->part[i].weight - mean, 2);
		}
	*spread = USUAL + (parts > 0 ? square / parts : 0);
	return mean;
}

/* The share of a part's samples in procedures in which nothing is counted. */
static double uncounted(const struct anchor *a, uint32_t part)
{
	const struct parts *k = a->e->parts;
	double other = 0;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++)
		if (!a->counts[k->block[i].proc])
			other += a->e->proc[k->block[i].proc].samples[k->block[i].block];
	return k->part[part].samples > 0 ? other / k->part[part].samples : 0;
}

/* Sets the scales of parts in which nothing is counted from other parts; their own time tells them
 * later (culprit/scale.h). A count in one procedure of a part says less about its other procedures. */
static void tell_others(const struct anchor *a, double usual, double spread)
{
	const struct parts *k = a->e->parts;

	for (uint32_t i = 0; i < k->n; i++) {
		struct part *t = &k->part[i];
		double rest = t->counted ? uncounted(a, i) : 0, time;

		if (t->counted && rest > 0) {
			double mean = t->sum / t->weight;

			time = part_time(a, i);
			t->weight = 1 / (1 / t->weight + APART * APART * rest);
			t->sum = t->weight * mean;
			t->weight += isfinite(time) ? TIME * rest : 0;
			t->sum += isfinite(time) ? TIME * rest * time : 0;
		}
		if (t->counted)
			continue;
		t->weight = 1 / spread;
		t->sum = usual / spread;
	}
}

static void lower(struct estimate_value *v, uint8_t most)
{
	if (v->confidence > most)
		v->confidence = most;
}

/* Whether something is counted both in the group's part and in its procedure. */
static bool is_known(const struct anchor *a, const struct estimate_proc *p, uint32_t b)
{
	return a->e->parts->part[part_of(a->e, p, b)].counted && a->counts[p - a->e->proc];
}

/* Lowers confidence where a procedure's times differ from the others': its frequencies may
 * differ as well, because slow code is observed too often. */
static void doubt(const struct anchor *a, double time)
{
	for (size_t i = 0; i < a->e->nproc; i++) {
		struct estimate_proc *p = &a->e->proc[i];
		const struct anchor_time *t = &a->proc[i];
		double error = t->samples > 0 ? DOUBT * fabs(t->scale - time) : 0;

		for (uint32_t b = 0; b < p->g.nblocks; b++)
			if (is_known(a, p, b))
				p->block[b].confidence = p->alone[b];
			else
				lower(&p->block[b], confidence_of(error));
		for (uint32_t k = 0; k < p->g.nedges; k++)
			lower(&p->edge[k], p->block[p->g.edge[k].from].confidence);
	}
}

/* Turns frequencies into executions over the program's scale. */
static void apply(struct estimate *e, double scale)
{
	for (uint32_t i = 0; i < e->parts->n; i++)
		parts_multiply(e, i, exp(e->parts->part[i].scale - scale));
}

static int find_scales(struct anchor *a, const struct tally_groups *g)
{
	double procedures = mean_time(a), time = all_times(procedures, whole_time(a)), scale,
	       spread;

	if (!isfinite(time))
		return 0;
	for (size_t i = 0; i < g->n; i++)
		if (tell_tallies(a, &g->group[i]))
			return -1;
	scale = mean_of_all(a, time, &spread);
	tell_others(a, scale, spread);
	doubt(a, procedures);
	parts_weigh_calls(a->e);
	parts_solve(a->e->parts);
	apply(a->e, scale);
	a->e->scale = exp(scale);
	return 0;
}

int anchor_estimate(struct estimate *e, const struct estimate_source *src, struct err *err)
{
	struct counter_source counters = { e, src };
	const struct tallies_judge judge = { counter_is_sure, counter_is_own, counters_are_apart,
					     &counters };
	struct anchor a = { .e = e,
			    .cycles = anchor_cycles(src->profile),
			    .machine = culprit_machine(src->schedule.cpu),
			    .counters = &counters };
	struct tally_groups g = { 0 };
	int rc = -1;

	a.proc = calloc(e->nproc + 1, sizeof(*a.proc));
	a.counts = calloc(e->nproc + 1, sizeof(*a.counts));
	if (a.proc && a.counts && !tallies_groups(&g, src->profile, &judge) && !tell_procedures(&a))
		rc = find_scales(&a, &g);
	tallies_groups_free(&g);
	free(a.proc);
	free(a.counts);
	return rc ? err_no_memory(err, "estimates") : 0;
}
