/* SPDX-License-Identifier: MIT */
#include "phase/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "x86/insn.h"

const char *const judge_quantity_key[JUDGE_QUANTITY_N] = {
#define X(id, key, what) key,
	JUDGE_QUANTITIES(X)
#undef X
};
const char *const judge_quantity_what[JUDGE_QUANTITY_N] = {
#define X(id, key, what) what,
	JUDGE_QUANTITIES(X)
#undef X
};

struct work {
	const struct phases *ph;
	const struct clusters *c;
	size_t spaced;
	double (*rate)[JUDGE_QUANTITY_N]; /* events per instruction, for each block */
	double *whole, *estimate; /* the share of executed instructions that each block has */
	double truth[JUDGE_QUANTITY_N];
};

static double went(const struct site *s)
{
	return s->observed ? (double)s->taken / (double)s->observed : 0;
}

static void add_site(double *rate, const struct site *s)
{
	bool load = s->cls == INSN_LOAD || s->cls == INSN_RMW || s->cls == INSN_COPY;
	bool store = s->cls == INSN_STORE || s->cls == INSN_RMW || s->cls == INSN_COPY;
	bool call = s->cls == INSN_CALL || s->cls == INSN_ICALL;

	rate[JUDGE_BRANCHES] += s->cls == INSN_BRANCH;
	rate[JUDGE_CALLS] += call;
	rate[JUDGE_LOADS] += load;
	rate[JUDGE_STORES] += store;
	if (s->cls == INSN_BRANCH)
		rate[JUDGE_TAKEN] += went(s);
	else
		rate[JUDGE_TAKEN] +=
			call || s->cls == INSN_JUMP || s->cls == INSN_IJUMP || s->cls == INSN_RET;
}

/* Computes the events of each block's instructions that the recording knows. */
static void rate_block(const struct profile *p, const struct phase_block *b, double *rate)
{
	uint64_t addr = b->addr;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct site *s =
			profile_site_find(p, (struct site_id){ .image = b->image, .addr = addr });

		if (!s || !s->len)
			break;
		add_site(rate, s);
		addr += s->len;
	}
	for (int q = 0; q < JUDGE_QUANTITY_N; q++)
		rate[q] /= b->n;
}

static void add_interval(const struct work *w, double *to, size_t i, double weight)
{
	const struct phase_interval *one = &w->ph->interval[i];
	double length = (double)(one->end - one->start);

	for (struct phases_walk k = phases_walk(one); phases_next(&k);)
		to[k.part.block] += weight * (double)k.part.instructions / length;
}

static double length_of(const struct work *w, size_t i)
{
	return (double)(w->ph->interval[i].end - w->ph->interval[i].start);
}

static void quantities(const struct work *w, const double *share, double *q)
{
	memset(q, 0, JUDGE_QUANTITY_N * sizeof(*q));
	for (size_t b = 0; b < w->ph->nblock; b++)
		for (int k = 0; share[b] > 0 && k < JUDGE_QUANTITY_N; k++)
			q[k] += share[b] * w->rate[b][k];
}

/* Half of the sum of differences: the share that would have to move to make both vectors equal. */
static double vector_error(const struct work *w)
{
	double sum = 0;

	for (size_t b = 0; b < w->ph->nblock; b++)
		sum += fabs(w->estimate[b] - w->whole[b]);
	return sum / 2;
}

static double relative(double estimate, double truth)
{
	return truth > 0 ? (estimate - truth) / truth : 0;
}

static void clear(const struct work *w)
{
	memset(w->estimate, 0, w->ph->nblock * sizeof(*w->estimate));
}

static void judge_targeted(struct judgement *j, const struct work *w)
{
	double q[JUDGE_QUANTITY_N];

	clear(w);
	for (unsigned k = 0; k < w->c->k; k++)
		add_interval(w, w->estimate, w->c->cluster[k].sample, w->c->cluster[k].share);
	quantities(w, w->estimate, q);
	j->targeted = vector_error(w);
	for (int k = 0; k < JUDGE_QUANTITY_N; k++)
		j->of[k].targeted = fabs(relative(q[k], w->truth[k]));
}

/* Judges systematic sampling from one starting interval. */
static void judge_from(struct judgement *j, const struct work *w, size_t first, double period)
{
	double q[JUDGE_QUANTITY_N], all = 0;

	for (size_t i = 0; i < w->spaced; i++)
		all += length_of(w, first + (size_t)((double)i * period));
	clear(w);
	for (size_t i = 0; i < w->spaced; i++) {
		size_t at = first + (size_t)((double)i * period);

		add_interval(w, w->estimate, at, length_of(w, at) / all);
	}
	quantities(w, w->estimate, q);
	j->systematic += vector_error(w);
	for (int k = 0; k < JUDGE_QUANTITY_N; k++)
		j->of[k].systematic += pow(relative(q[k], w->truth[k]), 2);
}

static void judge_systematic(struct judgement *j, const struct work *w)
{
	double period = (double)w->c->n / (double)w->spaced;
	size_t beginnings = (size_t)period;

	for (size_t i = 0; i < beginnings; i++)
		judge_from(j, w, i, period);
	j->systematic /= (double)beginnings;
	for (int k = 0; k < JUDGE_QUANTITY_N; k++)
		j->of[k].systematic = sqrt(j->of[k].systematic / (double)beginnings);
}

/* Computes the variation over intervals, and the bounds that follow from it. */
static void judge_variation(struct judgement *j, const struct work *w)
{
	double square[JUDGE_QUANTITY_N] = { 0 }, q[JUDGE_QUANTITY_N] = { 0 }, all;

	all = (double)w->c->instructions;
	for (size_t i = 0; i < w->c->n; i++) {
		const struct phase_interval *one = &w->ph->interval[i];
		double length = length_of(w, i);

		memset(q, 0, sizeof(q));
		for (struct phases_walk k = phases_walk(one); phases_next(&k);)
			for (int x = 0; x < JUDGE_QUANTITY_N; x++)
				q[x] += (double)k.part.instructions / length *
					w->rate[k.part.block][x];
		for (int x = 0; x < JUDGE_QUANTITY_N; x++)
			square[x] += length / all * pow(q[x] - w->truth[x], 2);
	}
	for (int x = 0; x < JUDGE_QUANTITY_N; x++) {
		struct judged *one = &j->of[x];
		/* The factor corrects for a finite population that is sampled without
		 * replacement. */
		double n = (double)w->spaced, rest = 1 - n / (double)w->c->n;

		one->truth = 1000 * w->truth[x];
		one->variation = w->truth[x] > 0 ? sqrt(square[x]) / w->truth[x] : 0;
		one->bound = JUDGE_Z * one->variation * sqrt(rest / n);
		one->wanted = pow(JUDGE_Z * one->variation / JUDGE_BOUND, 2);
		one->wanted = ceil(one->wanted / (1 + one->wanted / (double)w->c->n));
	}
}

int judge(struct judgement *j, const struct profile *p, const struct phases *ph,
	  const struct clusters *c, size_t spaced, struct err *err)
{
	struct work w = { .ph = ph, .c = c };
	int rc = -1;

	w.spaced = !spaced ? c->k : spaced < c->n ? spaced : c->n;
	*j = (struct judgement){ .samples = c->k, .spaced = w.spaced };
	w.rate = calloc(ph->nblock + 1, sizeof(*w.rate));
	w.whole = calloc(ph->nblock + 1, sizeof(*w.whole));
	w.estimate = calloc(ph->nblock + 1, sizeof(*w.estimate));
	if (w.rate && w.whole && w.estimate) {
		for (size_t b = 0; b < ph->nblock; b++)
			rate_block(p, &ph->block[b], w.rate[b]);
		for (size_t i = 0; i < c->n; i++)
			add_interval(&w, w.whole, i, length_of(&w, i) / (double)c->instructions);
		quantities(&w, w.whole, w.truth);
		judge_variation(j, &w);
		judge_targeted(j, &w);
		judge_systematic(j, &w);
		rc = 0;
	} else {
		err_no_memory(err, "phases");
	}
	free(w.rate);
	free(w.whole);
	free(w.estimate);
	return rc;
}
