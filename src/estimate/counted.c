/* SPDX-License-Identifier: MIT */
/*
 * Executions that an exact recording of the same work counted. Time comes from the sampled
 * recording, so CPI is as good as its samples. Code that was not counted (no file holds it, or the
 * exact run did not have its image) keeps its estimate, at the scale of the counted code.
 */
#include <math.h>
#include <stdlib.h>

#include "base/quantile.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"

#define OWN_SAMPLES 0.1

struct counted_block {
	double executed, taken;
	bool known;
};

/* Counts a block by its first instruction, because a signal may end it early. A branch is its
 * last instruction. */
static void count_block(const struct estimate_source *src, const struct estimate_proc *p,
			const struct cfg_block *k, struct counted_block *c)
{
	struct estimate_count first, last;

	if (!k->ninsn || !src->count(src->count_ctx, p->image, p->g.insn[k->insn].addr, &first) ||
	    !src->count(src->count_ctx, p->image, p->g.insn[k->insn + k->ninsn - 1].addr, &last))
		return;
	*c = (struct counted_block){ first.executed, last.taken, true };
}

static struct counted_block *count_blocks(const struct estimate *e,
					  const struct estimate_source *src)
{
	struct counted_block *c = calloc(e->nblocks + 1, sizeof(*c));

	for (size_t i = 0; c && i < e->nproc; i++) {
		const struct estimate_proc *p = &e->proc[i];

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++)
			count_block(src, p, &p->g.block[b], &c[p->first + b]);
	}
	return c;
}

/* Returns the scale of the counted code. own: use only parts whose executions the program counts
 * itself; returns 0 if they have less than OWN_SAMPLES of the samples. */
static double scale_of(const struct estimate *e, const struct counted_block *c, bool own)
{
	struct weighted *v = calloc(e->nblocks + 1, sizeof(*v));
	double scale, all = 0, told = 0;
	size_t n = 0;

	if (!v)
		return -1;
	for (size_t i = 0; i < e->nproc; i++) {
		const struct estimate_proc *p = &e->proc[i];

		for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
			double executed = c[p->first + b].executed, f = p->block[b].f;

			all += p->samples[b];
			if (executed <= 0 || f <= 0 || p->samples[b] <= 0 ||
			    (own && !e->parts->part[part_of(e, p, b)].counted))
				continue;
			told += p->samples[b];
			v[n++] = (struct weighted){ executed / f, p->samples[b] };
		}
	}
	scale = own && told < OWN_SAMPLES * all ? 0 : quantile(v, n, 0.5);
	free(v);
	return scale;
}

/* Executions of an edge; c: counts of the procedure's blocks. Where counts do not tell, shares
 * do. */
static double edge_of(const struct estimate_proc *p, uint32_t edge, const struct counted_block *c)
{
	const struct counted_block *from = &c[p->g.edge[edge].from], *to = &c[p->g.edge[edge].to];
	double n = cfg_edge_passed(&p->g, edge, from->executed, from->taken,
				   to->known ? to->executed : NAN);

	return isnan(n) ? from->executed * p->share[edge] : n;
}

static void give(struct estimate_proc *p, const struct counted_block *c, double scale)
{
	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
		/* Code with samples ran; a count of 0 then shows that the exact run did other
		 * work. */
		if (c[b].known && c[b].executed <= 0 && p->samples[b] > 0)
			p->block[b].confidence = CONFIDENCE_LOW;
		else if (c[b].known)
			p->block[b] =
				(struct estimate_value){ c[b].executed / scale, CONFIDENCE_HIGH };
	}
	for (uint32_t k = 0; k < p->g.nedges; k++) {
		const struct cfg_edge *e = &p->g.edge[k];
		const struct counted_block *from = &c[e->from];

		if (!from->known)
			continue;
		if (p->block[e->from].confidence == CONFIDENCE_HIGH)
			p->edge[k] = (struct estimate_value){ edge_of(p, k, c) / scale,
							      CONFIDENCE_HIGH };
		else
			p->edge[k].confidence = CONFIDENCE_LOW;
	}
}

double estimate_counted_scale(const struct estimate *e, const struct estimate_source *src)
{
	struct counted_block *c = count_blocks(e, src);
	double scale = c ? scale_of(e, c, false) : -1;

	free(c);
	return scale;
}

int counted_estimate(struct estimate *e, const struct estimate_source *src, struct err *err)
{
	struct counted_block *c = count_blocks(e, src);
	double scale = c ? scale_of(e, c, false) : -1, own = c ? scale_of(e, c, true) : -1;

	if (!c || scale < 0 || own < 0) {
		free(c);
		return err_no_memory(err, "counts");
	}
	for (size_t i = 0; i < e->nproc && scale > 0; i++)
		give(&e->proc[i], c + e->proc[i].first, scale);
	if (scale > 0) {
		e->apart = e->scale > 0 ? own / e->scale : 0;
		e->scale = scale;
	}
	free(c);
	return 0;
}
