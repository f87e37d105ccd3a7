/* SPDX-License-Identifier: MIT */
/* How long the core may wait for an instruction to come. */
#include <math.h>

#include "culprit/facts.h"

/*
 * Behind a branch that was mispredicted the right instructions come late: as often as that can have been, at
 * most. Who predicts what a branch mostly does is right but for the other cases.
 */
static void place_branch(struct fact *f, const struct front_from *from, unsigned n,
			 const struct culprit_machine *m)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++) {
		double part = from[i].share;

		if (from[i].fact && f->executions > 0)
			part = fmin(part, from[i].fact->mispredicted * from[i].fact->executions /
						  f->executions);
		f->branch += part * m->mispredict;
		if (!from[i].fact || part <= most)
			continue;
		most = part;
		f->branch_fault = from[i].fact->addr;
	}
}

/* The share of its executions that come from another line, or page [seed]. */
static double crossing(const struct fact *f, const struct front_from *from, unsigned n,
		       unsigned bits)
{
	uint64_t unit = (f->addr + f->len - 1) >> bits;
	double part = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct fact *g = from[i].fact;

		if (!g || (g->addr + g->len - 1) >> bits != unit)
			part += from[i].share;
	}
	return fmin(1, part);
}

void front_place(struct fact *f, const struct front_from *from, unsigned n, bool head,
		 const struct fact_source *src)
{
	const struct culprit_machine *m = src->machine;
	double jumped = 0;

	f->placed = true;
	f->icache = crossing(f, from, n, MACHINE_LINE) *
		    footprint_single(f->executions, src->code_lines, m->code);
	f->itlb = crossing(f, from, n, MACHINE_PAGE) *
		  footprint_single(f->executions, src->code_pages, m->itlb);
	for (unsigned i = 0; head && i < n; i++)
		if (from[i].jumped || !from[i].fact)
			jumped += from[i].share;
	/* a jump costs a cycle, more if its target is not remembered; what is not kept decoded is decoded */
	f->front = jumped * (1 + m->unknown * fmin(1, crowd_between(src->targets, f->executions) /
							      m->branches)) +
		   m->decode * (head ? 2 : 1) *
			   fmin(1, crowd_between(src->insns, f->executions) / m->decoded);
	if (head)
		place_branch(f, from, n, m);
}
