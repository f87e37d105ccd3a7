/* SPDX-License-Identifier: MIT */
#include "verify/frequency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "x86/insn.h"
#include "report/analysis.h"
#include "report/match.h"

static const double within[FREQUENCY_WITHIN] = { 0.05, 0.10, 0.15 };

struct pair {
	double error; /* log(estimate / truth); -INFINITY: no estimate */
	double apart; /* of an instruction: the part of the error that its whole procedure shares */
	double may;   /* expected error in nine cases of ten */
	bool held;    /* the procedure's error is within its expected error */
	double weight;
	uint8_t confidence;
};

struct pairs {
	struct pair *v;
	size_t n, cap;
};

struct measure {
	struct frequency *f;
	struct reading *sampled;
	const struct reading *exact;
	struct counts truth;
	const struct estimate *e;
	/* executions for a frequency of 1, in one run of the exact recording's work */
	double scale;
	/* logarithm of scale over the scale that another exact run gives; NAN: there is none */
	double anchor;
	/* by procedure: log(estimate / truth) of all instructions executed; 0: none */
	double *apart;
	double *may; /* by procedure: its expected error in nine cases of ten */
	struct pairs insn, edge;
};

static int add(struct pairs *p, double estimate, double truth, double weight, uint8_t confidence)
{
	if (!array_reserve(p->v, p->cap, p->n + 1))
		return -1;
	p->v[p->n++] = (struct pair){ .error = estimate > 0 ? log(estimate / truth) : -INFINITY,
				      .weight = weight,
				      .confidence = confidence };
	return 0;
}

static double executed(const struct measure *m, const struct estimate_proc *p, uint32_t insn)
{
	const struct site *t = counts_site(&m->truth, p->image, p->g.insn[insn].addr);

	return t ? (double)t->observed : 0;
}

static int tell_procedures(struct measure *m)
{
	m->apart = calloc(m->e->nproc + 1, sizeof(*m->apart));
	m->may = calloc(m->e->nproc + 1, sizeof(*m->may));
	if (!m->apart || !m->may)
		return -1;
	for (size_t i = 0; i < m->e->nproc; i++) {
		const struct estimate_proc *p = &m->e->proc[i];
		double estimate = 0, truth = 0;

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			const struct cfg_block *k = &p->g.block[b];

			estimate += p->block[b].f * m->scale * k->ninsn;
			for (uint32_t j = k->insn; j < k->insn + k->ninsn; j++)
				truth += executed(m, p, j);
		}
		if (estimate > 0 && truth > 0)
			m->apart[i] = log(estimate / truth);
		m->may[i] = log(estimate_factor(estimate_sum(m->e, p).error));
	}
	return 0;
}

/* Errors of instructions. */

static int pair_insns(struct measure *m)
{
	const struct view *v = &m->sampled->view;

	for (size_t i = 0; i < v->n; i++) {
		const struct site *s = v->site[i], *t;
		struct estimate_value value = { 0 };
		struct estimate_at at;
		struct pair *pair;

		if (!s->samples || !match_is_file(v, s->id.image))
			continue;
		t = counts_site(&m->truth, s->id.image, s->id.addr);
		if (!t || !t->observed)
			continue;
		if (!estimate_find(m->e, s->id.image, s->id.addr, &at))
			at.proc = NULL;
		else
			value = at.proc->block[at.block];
		m->f->samples += (double)s->samples;
		if (value.confidence != CONFIDENCE_NONE)
			m->f->estimated += (double)s->samples;
		if (add(&m->insn, value.f * m->scale, (double)t->observed, (double)s->samples,
			value.confidence))
			return -1;
		if (!at.proc)
			continue;
		pair = &m->insn.v[m->insn.n - 1];
		pair->apart = m->apart[at.proc - m->e->proc];
		pair->may = log(estimate_factor(estimate_error(m->e, at.proc, at.block)));
		pair->held = fabs(pair->apart) <= m->may[at.proc - m->e->proc];
	}
	return 0;
}

/* Errors of edges. */

/* True executions of an edge; NAN: not known. Edges between virtual blocks, and after calls, are
 * not needed. */
static double edge_truth(const struct measure *m, const struct estimate_proc *p, uint32_t i)
{
	const struct cfg_edge *e = &p->g.edge[i];
	const struct cfg_block *from = &p->g.block[e->from], *to = &p->g.block[e->to];
	const struct site *t;

	if (e->from == CFG_ENTRY_BLOCK || !from->ninsn || e->kind == CFG_AFTER ||
	    e->kind == CFG_VIRTUAL || e->kind == CFG_STOP || e->kind == CFG_RETURN)
		return NAN;
	t = counts_site(&m->truth, p->image, p->g.insn[from->insn + from->ninsn - 1].addr);
	return cfg_edge_passed(&p->g, i, t ? (double)t->observed : 0, t ? (double)t->taken : 0,
			       to->ninsn ? executed(m, p, to->insn) : NAN);
}

static int pair_edges(struct measure *m)
{
	for (size_t i = 0; i < m->e->nproc; i++) {
		const struct estimate_proc *p = &m->e->proc[i];

		for (uint32_t k = 0; k < p->g.nedges; k++) {
			double truth = edge_truth(m, p, k);

			if (!(truth > 0))
				continue;
			m->f->edges += truth;
			if (add(&m->edge, p->edge[k].f * m->scale, truth, truth,
				p->edge[k].confidence))
				return -1;
		}
	}
	return 0;
}

/* Adds branches that ran in procedures that were never observed, as edges without an estimate. */
static int pair_unseen(struct measure *m)
{
	const struct view *v = &m->exact->view;

	for (size_t i = 0; i < v->n; i++) {
		const struct site *t = v->site[i];
		struct estimate_at at;
		uint32_t image;

		if (t->cls != INSN_BRANCH || !t->observed || !match_is_file(v, t->id.image))
			continue;
		image = match_find(&m->sampled->view, v->image[t->id.image].image);
		if (image != MATCH_NONE && estimate_find(m->e, image, t->id.addr, &at))
			continue;
		m->f->edges += (double)t->observed;
		if (add(&m->edge, 0, 1, (double)t->observed, CONFIDENCE_NONE))
			return -1;
	}
	return 0;
}

/* Finding the best scale. */

static int by_error(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->error > y->error) - (x->error < y->error);
}

/* Weight of errors in [low, high], from sorted pairs with cumulative weights. */
static double weight_in(const struct pairs *p, const double *sum, double low, double high)
{
	size_t from = search_first(i, 0, p->n, p->v[i].error >= low);
	size_t to = search_first(i, from, p->n, p->v[i].error > high);

	return sum[to] - sum[from];
}

/* Finds the common error, as a logarithm, with most of the weight within 5, 10 and 15 % of it;
 * of several the one nearest to the median; 0 if there are no pairs. */
static int best_scale(struct pairs *p, double *best)
{
	double *sum = calloc(p->n + 1, sizeof(*sum)), most = -1, middle = 0;

	*best = 0;
	if (!sum)
		return -1;
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_error);
	for (size_t i = 0; i < p->n; i++)
		sum[i + 1] = sum[i] + p->v[i].weight;
	for (size_t i = 0; i < p->n && sum[i] <= sum[p->n] / 2; i++)
		middle = p->v[i].error;
	for (size_t i = 0; i < p->n; i++) {
		if (isinf(p->v[i].error))
			continue;
		/* the errors that put this pair at one end of the interval, or in its middle */
		for (int k = -1; k < 2 * FREQUENCY_WITHIN; k++) {
			double w = k < 0 ? 0 : k % 2 ? within[k / 2] : -within[k / 2], got = 0;
			double at = p->v[i].error - log1p(w);

			for (int j = 0; j < FREQUENCY_WITHIN; j++)
				got += weight_in(p, sum, at + log1p(-within[j]) - 1e-9,
						 at + log1p(within[j]) + 1e-9);
			if (got > most ||
			    (got == most && fabs(at - middle) < fabs(*best - middle))) {
				most = got;
				*best = at;
			}
		}
	}
	free(sum);
	return 0;
}

static int bucket_of(double error)
{
	double at = floor((expm1(error) - FREQUENCY_BUCKET_FROM) / FREQUENCY_BUCKET);

	return at < 0 ? 0 : at >= FREQUENCY_BUCKETS ? FREQUENCY_BUCKETS - 1 : (int)at;
}

static bool is_within(double error, double part)
{
	return fabs(expm1(error)) <= part + 1e-9;
}

static void count(struct measure *m, double scale)
{
	struct frequency *f = m->f;

	for (size_t i = 0; i < m->insn.n; i++) {
		const struct pair *p = &m->insn.v[i];
		double error = p->error - scale;
		bool low = p->confidence <= CONFIDENCE_LOW;

		for (int k = 0; k < FREQUENCY_WITHIN; k++) {
			f->relative[k] += is_within(error, within[k]) ? p->weight : 0;
			f->absolute[k] += is_within(p->error, within[k]) ? p->weight : 0;
			f->anchored[k] +=
				is_within(p->error - m->anchor, within[k]) ? p->weight : 0;
			f->procedure[k] +=
				is_within(p->error - p->apart, within[k]) ? p->weight : 0;
		}
		f->half += fabs(p->error) <= log(1.5) ? p->weight : 0;
		f->twice += fabs(p->error) <= log(2) ? p->weight : 0;
		f->held += fabs(p->error) <= p->may ? p->weight : 0;
		f->held_procedure += p->held ? p->weight : 0;
		f->width += p->weight * p->may;
		f->low += low ? p->weight : 0;
		if (!is_within(error, within[FREQUENCY_WITHIN - 1])) {
			f->off += p->weight;
			f->off_low += low ? p->weight : 0;
		}
		f->histogram[bucket_of(error)][p->confidence] += p->weight;
		f->cpi_histogram[bucket_of(-p->error)][p->confidence] += p->weight;
	}
	for (size_t i = 0; i < m->edge.n; i++) {
		const struct pair *p = &m->edge.v[i];
		double error = p->error - scale;

		f->edges10 += is_within(error, 0.10) ? p->weight : 0;
		f->edge_histogram[bucket_of(error)][p->confidence] += p->weight;
	}
}

static int compare(struct measure *m)
{
	double scale;

	if (counts_init(&m->truth, m->sampled, m->exact, 1) || tell_procedures(m) ||
	    pair_insns(m) || pair_edges(m) || pair_unseen(m) || best_scale(&m->insn, &scale))
		return -1;
	m->f->factor = exp(scale);
	count(m, scale);
	return 0;
}

int frequency_measure(struct frequency *f, struct reading *sampled, const struct reading *exact,
		      enum estimate_method method, struct counts *counts, double repeat,
		      struct err *err)
{
	struct estimate e;
	struct measure m = { .f = f, .sampled = sampled, .exact = exact, .e = &e };
	struct analysis a;
	double counted;
	int rc;

	memset(f, 0, sizeof(*f));
	if (analysis_open(&a, sampled, true, err))
		return -1;
	a.method = method;
	a.source.count_ctx = counts;
	rc = analysis_estimate(&a, &e, err);
	counted = !rc && counts ? estimate_counted_scale(&e, &a.source) : 0;
	analysis_close(&a);
	if (rc)
		return -1;
	m.anchor = counted > 0 ? log(e.scale / counted) : NAN;
	memcpy(f->warning, e.warning, sizeof(f->warning));
	m.scale = e.scale / repeat;
	rc = counted < 0 || compare(&m) ? err_no_memory(err, "the comparison") : 0;
	counts_fini(&m.truth);
	free(m.apart);
	free(m.may);
	free(m.insn.v);
	free(m.edge.v);
	estimate_fini(&e);
	return rc;
}
