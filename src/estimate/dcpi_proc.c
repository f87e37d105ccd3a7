/* SPDX-License-Identifier: MIT */
/* DCPI's method applied to the program: static schedules, classes, propagation. */
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate_priv.h"
#include "estimate/propagate.h"
#include "estimate/schedules.h"

struct dcpi_work {
	struct estimate *e;
	struct schedules schedules;
	struct dcpi_insn *class_insn; /* room for the instructions of a class */
};

/* Appends the instructions of a block to the n before it. */
static size_t add_block(struct dcpi_work *w, const struct estimate_proc *p, uint32_t b, size_t n)
{
	const struct cfg_block *k = &p->g.block[b];
	const struct schedule_insn *insn = schedules_of(&w->schedules, p, b);

	for (uint32_t i = 0; insn && i < k->ninsn; i++) {
		const struct schedule_insn *s = &insn[i];
		const struct site *site = p->site[k->insn + i];

		w->class_insn[n + i] = (struct dcpi_insn){
			.samples = site ? (double)site->samples : 0,
			.least = s->least,
			.cause = s->cause >= 0 && s->cause < (int)i ? (int)n + s->cause : -1,
			.first = i == 0,
		};
	}
	return n + (insn ? k->ninsn : 0);
}

/* Blocks sorted by class, to be freed. */
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
	int rc = schedules_make(&w.schedules, e, src);

	w.class_insn = rc ? NULL : calloc(w.schedules.ninsns + 1, sizeof(*w.class_insn));
	if (!w.class_insn)
		rc = -1;
	for (size_t i = 0; i < e->nproc && !rc; i++)
		rc = estimate_proc(&w, &e->proc[i]);
	if (!rc)
		memcpy(e->warning, w.schedules.warning.msg, sizeof(e->warning) - 1);
	schedules_fini(&w.schedules);
	free(w.class_insn);
	return rc ? err_no_memory(err, "estimates") : 0;
}
