/* SPDX-License-Identifier: MIT */
#include "culprit/scale.h"

#include <math.h>
#include <stdlib.h>

#include "base/quantile.h"
#include "culprit/carried.h"
#include "culprit/culprit_priv.h"
#include "culprit/turns.h"
#include "estimate/parts.h"

#define PART_SAMPLES 100 /* samples of a part from which its own times bound its scale */
#define MODEL_ERROR 0.5	 /* standard deviation of the logarithm of a part's time over its model */
/* factor of variances with which intervals hold in nine cases of ten, by 46 recordings, each left
 * out in turn */
#define CALIBRATION 1.44
#define STRAY 0.1	/* part of a part's samples that may fall on those that it is tied to */
#define MODEL_SAMPLES 4 /* samples of a part that is modelled */
/* variance of a part whose time is all that of strings, locks and the like */
#define BEYOND_ERROR 4.0

/* Whether evidence may change a part's scale; the scale of a part that the program counts itself
 * is known. */
static bool is_movable(const struct culprits *c, uint32_t part)
{
	return !c->e->parts->part[part].counted;
}

static void move(struct culprits *c, uint32_t part, double factor)
{
	if (!is_movable(c, part))
		return;
	parts_multiply(c->e, part, factor);
	c->e->parts->part[part].scale += log(factor);
}

static void move_all(struct culprits *c, double factor)
{
	for (uint32_t i = 0; i < c->e->parts->n; i++)
		move(c, i, factor);
}

/* Adds a part's samples and the cycles of its schedules. */
static void add_scheduled(const struct culprits *c, uint32_t part, double *samples,
			  double *scheduled)
{
	const struct parts *k = c->e->parts;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++) {
		const struct estimate_proc *p = &c->e->proc[k->block[i].proc];
		uint32_t b = k->block[i].block;

		*samples += p->samples[b];
		*scheduled += c->e->scale * p->block[b].f * culprits_least(c, p, b);
	}
}

/* Returns the factor, at most 1, with which the executions fit into the time. */
static double not_beyond(const struct culprits *c, double samples, double scheduled)
{
	double most = CULPRIT_AT_ONCE * samples * c->period;

	return scheduled > most ? most / scheduled : 1;
}

/* Lowers scales so that all schedules together take no more than the time that passed, with a
 * margin because cores are wider than their models. The same holds for each part. */
static void lower_scale(struct culprits *c)
{
	const struct parts *k = c->e->parts;
	double samples = 0, scheduled = 0;

	for (uint32_t i = 0; i < k->n; i++)
		if (is_movable(c, i))
			add_scheduled(c, i, &samples, &scheduled);
	move_all(c, not_beyond(c, samples, scheduled));
	for (uint32_t i = 0; i < k->n && c->e->method != ESTIMATE_DCPI; i++) {
		if (k->part[i].samples < PART_SAMPLES)
			continue;
		samples = scheduled = 0;
		add_scheduled(c, i, &samples, &scheduled);
		move(c, i, not_beyond(c, samples, scheduled));
	}
}

/*
 * The model of time: an execution takes its scheduled cycles, and the usual cost of what windows
 * show its instructions to meet.
 */
struct model {
	double samples;
	double beyond; /* samples of blocks whose time has no bound: strings, locks */
	double scale;  /* logarithm of the part's scale, by the model; NAN: not known */
	double error;  /* variance of that */
};

/*
 * Cycles that the memory needs while execution goes on: for prefetched lines and pages, and for
 * those of stores. Stores retire before they have their lines, so the largest possible number is
 * under way.
 */
static double moved_by(const struct culprits *c, const struct fact *f)
{
	double lines = f->hide_line.stream ? f->dcache.likely
		       : f->load	   ? 0
				 : f->dcache.likely * f->hide_line.overlap / c->machine.misses;
	double pages = f->hide_page.stream ? f->dtlb.likely
		       : f->load	   ? 0
				 : f->dtlb.likely * f->hide_page.overlap / c->machine.walks;

	return lines + pages;
}

/* Cycles that an execution waits for what windows show, mispredictions excepted. */
static double met_by(const struct culprits *c, const struct fact *f)
{
	double data = f->load ? f->dcache.likely + f->dtlb.likely - moved_by(c, f) : 0;
	double forwarding = f->forward.likely * c->machine.forward;

	/* accesses that windows never judged count as meeting no store */
	return (f->located ? data : 0) + (f->judged ? forwarding : 0) + f->icache.likely +
	       f->itlb.likely + f->front.likely + f->contended.likely * c->machine.contended;
}

/* The cycles of a block: by the model, and as observed. */
struct block_time {
	double model, took;
};

/* The latency of a division beyond what its schedule has, if its next execution waits for it. */
static double chained(const struct culprits *c, const struct estimate_proc *p, uint32_t b,
		      const struct fact *f, const struct schedule_insn *insn, uint32_t k)
{
	return f->divides && carried_to_itself(c, p, b, k)
		       ? fmax(0, c->machine.divide - (insn ? insn[k].least : 0))
		       : 0;
}

/* The first of the instructions that retire together with the block's last one. */
static uint32_t last_of(const struct culprits *c, const struct estimate_proc *p, uint32_t b)
{
	uint32_t n = p->g.block[b].ninsn;
	const struct fact *f = n > 1 ? paths_placed(c->paths, p, b, n - 2) : NULL;

	return f && f->fuses ? n - 2 : n - 1;
}

/* The block in which the time is seen for which a block's first instruction holds up retirement: a
 * later one, if the block has no other instruction. */
static uint32_t seen_in(const struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];
	const struct cfg_edge *e = &p->g.edge[k->out];

	return k->ninsn == 1 && k->nout == 1 && k->ends != CFG_END_CALL && e->kind != CFG_VIRTUAL &&
			       e->to != CFG_EXIT_BLOCK
		       ? e->to
		       : b;
}

/* Where the time of a block's end is seen: an interrupt waits for the instruction that is next to
 * retire, and then hits the following one. last, wrong: cycles, and mispredictions, of all
 * executions. */
static void model_end(const struct culprits *c, const struct estimate_proc *p, uint32_t b,
		      double last, double wrong, double *cycles)
{
	const struct cfg_block *k = &p->g.block[b];
	double here = last + wrong * c->machine.mispredict, f = c->e->scale * p->block[b].f;

	for (uint32_t i = k->out; i < k->out + k->nout && k->ends != CFG_END_CALL; i++) {
		const struct cfg_edge *e = &p->g.edge[i];
		double to = p->share[i];

		if (e->kind == CFG_VIRTUAL || e->to == CFG_EXIT_BLOCK)
			continue;
		to = last * to +
		     c->machine.mispredict * f *
			     (k->nout == 2 ? front_wrong_to(wrong / f, to) : wrong / f * to);
		cycles[p->first + seen_in(p, e->to)] += to;
		here -= to;
	}
	cycles[p->first + b] += fmax(0, here);
}

/* Adds the cycles of a block's executions, by the model, to the blocks in which they are seen. */
static void model_cycles(const struct culprits *c, const struct estimate_proc *p, uint32_t b,
			 double *cycles)
{
	const struct schedule_insn *insn = schedules_of(&c->schedules, p, b);
	uint32_t n = p->g.block[b].ninsn, end;
	double f = c->e->scale * p->block[b].f, last = 0,
	       own = fmax(culprits_least(c, p, b), n / c->machine.retire);
	const struct fact *fact = NULL;
	double moved = 0,
	       met = 0; /* cycles in which lines are transferred; cycles that executions wait for */

	if (!(f > 0) || !n)
		return;
	end = last_of(c, p, b);
	for (uint32_t j = 0; j < n; j++) {
		fact = paths_placed(c->paths, p, b, j);
		moved += fact && fact->located ? moved_by(c, fact) : 0;
		if (fact)
			*(j < end ? &met : &last) +=
				met_by(c, fact) + chained(c, p, b, fact, insn, j);
	}
	own = fmax(fmax(own, moved) + met,
		   carried_cycles(c, p, b)); /* no miss is in the chain of dependences */
	own += fact ? fact->mispredicted.likely * fact->ready : 0;
	cycles[p->first + b] += f * own;
	model_end(c, p, b, f * last, fact ? f * fact->mispredicted.likely : 0, cycles);
}

/* Whether the time of the block's instructions has a bound. */
static bool is_bounded(const struct culprits *c, const struct estimate_proc *p, uint32_t b)
{
	for (uint32_t j = 0; p->block[b].f > 0 && j < p->g.block[b].ninsn; j++) {
		const struct fact *f = paths_placed(c->paths, p, b, j);

		if (f && (f->string || f->serial))
			return false;
	}
	return true;
}

/* Adds a block's time to the model, and to *t, if the time has a bound. */
static bool model_block(const struct culprits *c, const struct part_block *at, const double *cycles,
			struct model *m, struct block_time *t)
{
	const struct estimate_proc *p = &c->e->proc[at->proc];
	bool bounded = is_bounded(c, p, at->block);

	*t = (struct block_time){ cycles[p->first + at->block], p->samples[at->block] * c->period };
	m->samples += bounded ? p->samples[at->block] : 0;
	m->beyond += bounded ? 0 : p->samples[at->block];
	return bounded;
}

/*
 * The factor by which blocks ran more often than modelled: the mean of the logarithms of observed over modelled cycles. In a
 * sum of the cycles, a single block with a wrong model would decide. Weighted by the observed time alone, blocks would
 * count most of which the model says too little, and by the modelled time those of which it says too much; their geometric
 * mean favours neither. 0: not known.
 */
static double factor_of(const struct block_time *t, size_t n)
{
	double sum = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		double weight = sqrt(fmax(0, t[i].model) * fmax(0, t[i].took));

		if (!(weight > 0))
			continue;
		sum += weight * log(t[i].took / t[i].model);
		all += weight;
	}
	return all > 0 ? exp(sum / all) : 0;
}

/* cycles: by block, of the model; t: room for the part's blocks. */
static struct model model_part(const struct culprits *c, uint32_t part, const double *cycles,
			       struct block_time *t)
{
	const struct parts *k = c->e->parts;
	struct model m = { .scale = NAN };
	double unknown, factor;
	size_t n = 0;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++)
		n += model_block(c, &k->block[i], cycles, &m, &t[n]);
	unknown = m.beyond > 0 ? m.beyond / (m.beyond + m.samples) : 0;
	m.error = MODEL_ERROR * MODEL_ERROR + 1 / fmax(m.samples, 1) + BEYOND_ERROR * unknown;
	factor = m.samples >= MODEL_SAMPLES ? factor_of(t, n) : 0;
	if (factor > 0)
		m.scale = k->part[part].scale + log(factor);
	return m;
}

/* The mean scale of modelled and counted parts, by samples; *spread: the variance around it. */
static double usual_scale(const struct parts *k, const struct model *model, double *spread)
{
	double all = 0, sum = 0, square = 0, mean;

	for (uint32_t i = 0; i < k->n; i++) {
		double x = k->part[i].counted ? k->part[i].scale : model[i].scale;

		all += isfinite(x) ? k->part[i].samples : 0;
		sum += isfinite(x) ? k->part[i].samples * x : 0;
		square += isfinite(x) ? k->part[i].samples * x * x : 0;
	}
	mean = sum / all; /* NAN: there are none */
	*spread = fmax(0, square / all - mean * mean);
	return mean;
}

/* Sets the evidence of parts in which nothing is counted: the model, and the usual scale. */
static void tell_parts(struct parts *k, const struct model *model)
{
	double spread, usual = usual_scale(k, model, &spread);

	for (uint32_t i = 0; i < k->n && isfinite(usual); i++) {
		struct part *t = &k->part[i];
		double prior = 1 / (spread + model[i].error);

		if (t->counted)
			continue;
		t->weight = prior;
		t->sum = prior * usual;
		if (isfinite(model[i].scale)) {
			t->weight += 1 / model[i].error;
			t->sum += model[i].scale / model[i].error;
		}
	}
}

/* Raises the error of parts beside hot ones, whose samples may have strayed from the hot ones. */
static void doubt_small(const struct parts *k, struct model *model)
{
	for (size_t i = 0; i < k->nties; i++) {
		const struct part_tie *t = &k->tie[i];
		double a = k->part[t->a].samples, b = k->part[t->b].samples;

		model[t->a].error += BEYOND_ERROR * fmin(1, STRAY * b / fmax(a, 1));
		model[t->b].error += BEYOND_ERROR * fmin(1, STRAY * a / fmax(b, 1));
	}
}

/* The most cycles that an execution of a block can take. */
static double most_of(const struct culprits *c, const struct estimate_proc *p, uint32_t block)
{
	double most = culprits_least(c, p, block);

	for (uint32_t k = 0; k < p->g.block[block].ninsn; k++) {
		const struct fact *f = paths_placed(c->paths, p, block, k);

		most += f ? fact_most(f, &c->machine) : 0;
	}
	return most;
}

/* The logarithm of the most cycles of a part over those of the model. */
static double slow_of(const struct culprits *c, uint32_t part, const double *cycles)
{
	const struct parts *k = c->e->parts;
	double most = 0, all = 0;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++) {
		const struct estimate_proc *p = &c->e->proc[k->block[i].proc];
		uint32_t b = k->block[i].block;

		all += cycles[p->first + b];
		most += c->e->scale * p->block[b].f * most_of(c, p, b);
	}
	return all > 0 && most > all ? log(most / all) : 0;
}

static int tell_turns(const struct culprits *c, const double *cycles)
{
	double *slow = calloc((size_t)c->e->parts->n + 1, sizeof(*slow));
	int rc;

	if (!slow)
		return -1;
	for (uint32_t i = 0; i < c->e->parts->n; i++)
		slow[i] = slow_of(c, i, cycles);
	rc = turns_tell(c->e->parts, slow);
	free(slow);
	return rc;
}

static int model_scales(struct culprits *c)
{
	struct parts *k = c->e->parts;
	struct model *model = calloc((size_t)k->n + 1, sizeof(*model));
	struct block_time *t = calloc(c->e->nblocks + 1, sizeof(*t));
	double *cycles = calloc(c->e->nblocks + 1, sizeof(*cycles));
	int rc;

	if (!model || !t || !cycles) {
		free(model);
		free(t);
		free(cycles);
		return -1;
	}
	for (size_t i = 0; i < c->e->nproc; i++)
		for (uint32_t b = 0; b < c->e->proc[i].g.nblocks; b++)
			model_cycles(c, &c->e->proc[i], b, cycles);
	for (uint32_t i = 0; i < k->n; i++)
		model[i] = model_part(c, i, cycles, t);
	free(t);
	doubt_small(k, model);
	tell_parts(k, model);
	rc = tell_turns(c, cycles);
	free(cycles);
	for (uint32_t i = 0; i < k->n; i++)
		model[i].scale = k->part[i].scale;
	parts_solve(k);
	for (uint32_t i = 0; i < k->n; i++) {
		parts_multiply(c->e, i, exp(k->part[i].scale - model[i].scale));
		if (is_movable(c, i))
			k->part[i].variance *= CALIBRATION;
	}
	free(model);
	return rc ? rc : culprits_find_paths(c);
}

/* The factor by which the block would have to run more often for its schedule and possible
 * stalls to take its time. */
static bool more_of(struct culprits *c, const struct estimate_proc *p, uint32_t block,
		    struct weighted *s)
{
	double most = most_of(c, p, block);

	if (culprits_least(c, p, block) <= 0 || p->block[block].f <= 0 || p->samples[block] <= 0)
		return false;
	*s = (struct weighted){ p->samples[block] * c->period /
					(c->e->scale * p->block[block].f * most),
				p->samples[block] };
	return true;
}

static size_t more_of_part(struct culprits *c, uint32_t part, struct weighted *v)
{
	const struct parts *k = c->e->parts;
	size_t n = 0;

	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++)
		n += more_of(c, &c->e->proc[k->block[i].proc], k->block[i].block, &v[n]);
	return n;
}

/* Raises scales until half of the time, of the program and of each part, can be explained. */
static int raise_scale(struct culprits *c)
{
	const struct parts *k = c->e->parts;
	struct weighted *v = calloc(c->e->nblocks + 1, sizeof(*v));
	double all, by;
	bool raised;
	size_t n = 0;

	if (!v)
		return -1;
	for (uint32_t i = 0; i < k->n; i++)
		if (is_movable(c, i))
			n += more_of_part(c, i, &v[n]);
	all = fmax(quantile(v, n, 0.5), 1);
	raised = all > 1;
	for (uint32_t i = 0; i < k->n; i++) {
		bool alone = k->part[i].samples >= PART_SAMPLES && c->e->method != ESTIMATE_DCPI;

		by = alone ? fmax(quantile(v, more_of_part(c, i, v), 0.5), all) : all;
		raised = raised || (by > 1 && is_movable(c, i));
		move(c, i, by);
	}
	free(v);
	if (!raised)
		return 0;
	lower_scale(c);
	return culprits_find_paths(c);
}

/* Adds a part's samples, and the cycles of its schedules and of the fetches that are likely to
 * miss. */
static void add_fetched(const struct culprits *c, uint32_t part, double *samples, double *needed)
{
	const struct parts *k = c->e->parts;

	add_scheduled(c, part, samples, needed);
	for (uint32_t i = k->first[part]; i < k->first[part + 1]; i++) {
		const struct estimate_proc *p = &c->e->proc[k->block[i].proc];
		uint32_t b = k->block[i].block;

		for (uint32_t j = 0; p->block[b].f > 0 && j < p->g.block[b].ninsn; j++) {
			const struct fact *f = paths_placed(c->paths, p, b, j);

			if (f)
				*needed += c->e->scale * p->block[b].f *
					   (f->icache.likely + f->itlb.likely);
		}
	}
}

/* Lowers scales by fetches: nothing hides the fetches of code that misses most of them, so it
 * ran no more often than their cost allows. This holds for the program and for each part. */
static int lower_by_fetches(struct culprits *c)
{
	const struct parts *k = c->e->parts;
	double samples = 0, needed = 0, all, by;
	bool lowered;

	for (uint32_t i = 0; i < k->n; i++)
		if (is_movable(c, i))
			add_fetched(c, i, &samples, &needed);
	all = not_beyond(c, samples, needed);
	lowered = all < 1;
	move_all(c, all);
	for (uint32_t i = 0; i < k->n && c->e->method != ESTIMATE_DCPI; i++) {
		if (!is_movable(c, i) || k->part[i].samples < PART_SAMPLES)
			continue;
		samples = needed = 0;
		add_fetched(c, i, &samples, &needed);
		by = not_beyond(c, samples, needed);
		lowered = lowered || by < 1;
		move(c, i, by);
	}
	if (!lowered)
		return 0;
	return culprits_find_paths(c);
}

int scales_fit(struct culprits *c)
{
	int rc;

	lower_scale(c);
	rc = culprits_find_paths(c);
	if (!rc && c->e->method != ESTIMATE_DCPI)
		rc = model_scales(c);
	lower_scale(c);
	if (!rc)
		rc = culprits_find_paths(c);
	return rc || lower_by_fetches(c) || raise_scale(c) ? -1 : 0;
}
