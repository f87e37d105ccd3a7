/* SPDX-License-Identifier: MIT */
/* DCPI's method over the program: static schedules, classes, propagation. */
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate_priv.h"
#include "estimate/propagate.h"

#define MODELLED 10 /* samples of a class from which on its blocks are scheduled by llvm-mca */

struct dcpi_work {
	struct estimate *e;
	struct schedule_block *schedule; /* those of blocks in classes with samples */
	uint32_t *of;			 /* by block of the program: its place there + 1, or 0 */
	struct schedule_insn *insn;	 /* of all of them */
	size_t n;
	struct dcpi_insn *class_insn; /* room for the instructions of a class */
};

/* By class of p: its samples; to be freed. */
static double *class_samples(const struct estimate_proc *p)
{
	double *s = calloc((size_t)p->g.nclasses + 1, sizeof(*s));

	for (uint32_t b = 0; s && b < p->g.nblocks; b++)
		s[p->g.block[b].cls] += p->samples[b];
	return s;
}

/* Blocks whose class has samples: counted, then filled in. */
static size_t choose(struct dcpi_work *w, const struct estimate_source *src, bool fill)
{
	size_t insns = 0;

	w->n = 0;
	for (size_t i = 0; i < w->e->nproc; i++) {
		const struct estimate_proc *p = &w->e->proc[i];
		double *samples = class_samples(p);
		struct image *im = src->image(src->ctx, p->image);

		for (uint32_t b = CFG_FIRST_BLOCK; samples && im && b < p->g.nblocks; b++) {
			const struct cfg_block *k = &p->g.block[b];
			size_t size = 0;
			const uint8_t *code;

			if (samples[k->cls] <= 0 || !k->ninsn)
				continue;
			code = image_code(im, k->start, &size);
			if (!code || size < k->end - k->start)
				continue;
			if (fill) {
				w->of[p->first + b] = (uint32_t)w->n + 1;
				w->schedule[w->n] = (struct schedule_block){
					.code = code,
					.size = k->end - k->start,
					.addr = k->start,
					.n = k->ninsn,
					.insn = &w->insn[insns],
					.cold = samples[k->cls] < MODELLED,
				};
			}
			w->n++;
			insns += k->ninsn;
		}
		free(samples);
	}
	return insns;
}

static int schedule_all(struct dcpi_work *w, const struct estimate_source *src, struct err *err)
{
	size_t insns = choose(w, src, false);
	struct err failed = { 0 };
	int rc;

	w->schedule = calloc(w->n + 1, sizeof(*w->schedule));
	w->insn = calloc(insns + 1, sizeof(*w->insn));
	w->class_insn = calloc(insns + 1, sizeof(*w->class_insn));
	w->of = calloc(w->e->nblocks + 1, sizeof(*w->of));
	if (!w->schedule || !w->insn || !w->of || !w->class_insn)
		return err_set(err, ERR_FAILED, "no memory for estimates");
	choose(w, src, true);
	rc = schedule_blocks(w->schedule, w->n, &src->schedule, &failed);
	if (rc > 0)
		memcpy(w->e->warning, failed.msg, sizeof(w->e->warning) - 1);
	return rc < 0 ? err_set(err, ERR_FAILED, "%s", failed.msg) : 0;
}

/* The instructions of a block, behind n others. */
static size_t add_block(struct dcpi_work *w, const struct estimate_proc *p, uint32_t b, size_t n)
{
	const struct cfg_block *k = &p->g.block[b];
	uint32_t at = w->of[p->first + b];

	for (uint32_t i = 0; at && w->schedule[at - 1].insn && i < k->ninsn; i++) {
		const struct schedule_insn *s = &w->schedule[at - 1].insn[i];
		const struct site *site = p->site[k->insn + i];

		w->class_insn[n + i] = (struct dcpi_insn){
			.samples = site ? (double)site->samples : 0,
			.least = s->least,
			.cause = s->cause >= 0 && s->cause < (int)i ? (int)n + s->cause : -1,
			.first = i == 0,
		};
	}
	return n + (at ? k->ninsn : 0);
}

/* Blocks in order of their class; to be freed. */
static uint32_t *by_class(const struct cfg *g)
{
	uint32_t *first = calloc((size_t)g->nclasses + 2, sizeof(*first));
	uint32_t *order = calloc((size_t)g->nblocks + 1, sizeof(*order));

	for (uint32_t b = 0; first && order && b < g->nblocks; b++)
		first[g->block[b].cls + 1]++;
	for (uint32_t c = 0; first && order && c < g->nclasses; c++)
		first[c + 1] += first[c];
	for (uint32_t b = 0; first && order && b < g->nblocks; b++)
		order[first[g->block[b].cls]++] = b;
	if (!first) {
		free(order);
		order = NULL;
	}
	free(first);
	return order;
}

static int estimate_proc(struct dcpi_work *w, struct estimate_proc *p)
{
	const struct cfg *g = &p->g;
	uint32_t *order = by_class(g);
	int rc = order ? 0 : -1;

	for (uint32_t i = 0, end; i < g->nblocks && !rc; i = end) {
		struct dcpi_estimate d;
		size_t n = 0;

		for (end = i;
		     end < g->nblocks && g->block[order[end]].cls == g->block[order[i]].cls; end++)
			n = add_block(w, p, order[end], n);
		rc = dcpi_class(&d, w->class_insn, n, &dcpi_default);
		for (uint32_t k = i; k < end && !rc; k++)
			p->block[order[k]] = (struct estimate_value){ d.f, (uint8_t)d.confidence };
	}
	free(order);
	return rc ? rc : propagate(g, p->block, p->edge);
}

int dcpi_estimate(struct estimate *e, const struct estimate_source *src, struct err *err)
{
	struct dcpi_work w = { .e = e };
	int rc = schedule_all(&w, src, err);

	for (size_t i = 0; i < e->nproc && !rc; i++)
		if (estimate_proc(&w, &e->proc[i]))
			rc = err_set(err, ERR_FAILED, "no memory for estimates");
	free(w.schedule);
	free(w.insn);
	free(w.class_insn);
	free(w.of);
	return rc;
}
