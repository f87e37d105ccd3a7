/* SPDX-License-Identifier: MIT */
#include "estimate/schedules.h"

#include <stdlib.h>
#include <string.h>

#define MODELLED 10 /* samples of a class from which on its blocks are scheduled by llvm-mca */

/* By class of p: its samples; to be freed. */
static double *class_samples(const struct estimate_proc *p)
{
	double *s = calloc((size_t)p->g.nclasses + 1, sizeof(*s));

	for (uint32_t b = 0; s && b < p->g.nblocks; b++)
		s[p->g.block[b].cls] += p->samples[b];
	return s;
}

static bool loops(const struct cfg *g, const struct cfg_block *k)
{
	for (uint32_t e = k->out; e < k->out + k->nout; e++)
		if (&g->block[g->edge[e].to] == k)
			return true;
	return false;
}

/* The blocks of p whose class has samples: counted, or filled in. */
static int choose(struct schedules *s, const struct estimate_proc *p, struct image *im, bool fill)
{
	double *samples = class_samples(p);

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
			s->of[p->first + b] = (uint32_t)s->n + 1;
			s->block[s->n] = (struct schedule_block){
				.code = code,
				.size = k->end - k->start,
				.addr = k->start,
				.n = k->ninsn,
				.insn = &s->insn[s->ninsns],
				.loops = loops(&p->g, k),
				.cold = samples[k->cls] < MODELLED,
			};
		}
		s->n++;
		s->ninsns += k->ninsn;
	}
	free(samples);
	return samples ? 0 : -1;
}

static int choose_all(struct schedules *s, const struct estimate *e,
		      const struct estimate_source *src, bool fill)
{
	s->n = s->ninsns = 0;
	for (size_t i = 0; i < e->nproc; i++)
		if (choose(s, &e->proc[i], src->image(src->ctx, e->proc[i].image), fill))
			return -1;
	return 0;
}

int schedules_make(struct schedules *s, const struct estimate *e, const struct estimate_source *src)
{
	memset(s, 0, sizeof(*s));
	if (!choose_all(s, e, src, false)) {
		s->block = calloc(s->n + 1, sizeof(*s->block));
		s->insn = calloc(s->ninsns + 1, sizeof(*s->insn));
		s->of = calloc(e->nblocks + 1, sizeof(*s->of));
		if (s->block && s->insn && s->of && !choose_all(s, e, src, true) &&
		    schedule_blocks(s->block, s->n, &src->schedule, &s->warning) >= 0)
			return 0;
	}
	schedules_fini(s);
	return -1;
}

void schedules_fini(struct schedules *s)
{
	free(s->block);
	free(s->insn);
	free(s->of);
	memset(s, 0, sizeof(*s));
}

const struct schedule_insn *schedules_of(const struct schedules *s, const struct estimate_proc *p,
					 uint32_t block)
{
	uint32_t at = s->of[p->first + block];

	return at ? s->block[at - 1].insn : NULL;
}
