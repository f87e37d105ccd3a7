/* SPDX-License-Identifier: MIT */
/* How long the core may wait for the front end to deliver an instruction. */
#include <math.h>

#include "culprit/facts.h"

/* Usual cycles of a misprediction once it is resolved, on all machines. */
#define MISPREDICT_LIKELY 14
#define JUMP_LIKELY 0.1

double front_wrong_to(double wrong, double way)
{
	double rare = fmin(way, 1 - way), ignorance = rare > 0 ? fmin(1, wrong / rare) : 0,
	       ignorant = 1 / (1 + pow(rare / (1 - rare), 3)),
	       rarer = fmin(rare, wrong * (0.5 + ignorance * (ignorant - 0.5)));

	return way <= 0.5 ? rarer : wrong - rarer;
}

struct odds front_wrong_before(const struct fact *f, const struct fact *branch, double share)
{
	double times, way;

	if (!branch || f->executions <= 0)
		return (struct odds){ share, 0 };
	times = branch->executions / f->executions;
	way = times > 0 ? fmin(1, share / times) : 1;
	return (struct odds){
		fmin(share, branch->mispredicted.most * times),
		fmin(share, branch->cls == INSN_BRANCH
				    ? front_wrong_to(branch->mispredicted.likely, way) * times
				    : branch->mispredicted.likely * share),
	};
}

/*
 * Bounds the delay after a mispredicted branch, by the highest possible share of mispredictions: a predictor that
 * always expects the most frequent way is wrong in the other cases only. The delay is the time until the branch is
 * resolved, plus the time to fill the pipeline again (Eyerman, Smith, Eeckhout, "Characterizing the branch
 * misprediction penalty", ISPASS 2006).
 */
static void place_branch(struct fact *f, const struct front_from *from, unsigned n,
			 const struct culprit_machine *m)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++) {
		struct odds part = front_wrong_before(f, from[i].fact, from[i].share);
		double resolves = from[i].fact ? from[i].fact->ready : 0;

		f->branch.most += part.most * (m->mispredict + resolves);
		f->branch.likely += part.likely * (MISPREDICT_LIKELY + resolves);
		if (!from[i].fact || part.most <= most)
			continue;
		most = part.most;
		f->branch_fault = from[i].fact;
	}
}

void front_expose(struct fact *block, unsigned n, struct odds share, const struct fact *by)
{
	double before = 0; /* until when the core waits anyway */

	for (unsigned i = 0; i < n; i++) {
		struct fact *f = &block[i];

		f->exposed = (struct odds){ share.most * f->ready,
					    share.likely * fmax(0, f->ready - before) };
		before = fmax(before, f->ready);
		if (!f->branch_fault)
			f->branch_fault = by;
	}
}

/* The share of an instruction's executions that follow an instruction in another line (or page) of code, of
 * 2^bits bytes (Anderson et al., SOSP 1997). */
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

static struct odds times(double part, struct odds o)
{
	return (struct odds){ part * o.most, part * o.likely };
}

/* The bursts of the line, or page, in which the instruction begins. */
static double bursts(const struct fact *f, const struct fetched *fetched, unsigned bits,
		     struct odds fresh)
{
	return fmax(f->executions * fresh.likely,
		    fetched ? fetched_bursts(fetched, f->image, f->addr >> bits) : 0);
}

void front_place(struct fact *f, const struct front_from *from, unsigned n, bool head,
		 const struct fact_source *src)
{
	const struct culprit_machine *m = src->machine;
	double jumped = 0;

	f->placed = true;
	f->icache =
		times(crossing(f, from, n, MACHINE_LINE),
		      footprint_single(f->executions,
				       bursts(f, src->lines_fetched, MACHINE_LINE, f->code_line),
				       f->code_line, src->code_lines, m->code));
	f->itlb = times(crossing(f, from, n, MACHINE_PAGE),
			footprint_single(f->executions,
					 bursts(f, src->pages_fetched, MACHINE_PAGE, f->code_page),
					 f->code_page, src->code_pages, m->itlb));
	f->icache = fact_tighter(f->icache, f->fetch_line);
	f->itlb = fact_tighter(f->itlb, f->fetch_page);
	for (unsigned i = 0; head && i < n; i++)
		if (from[i].jumped || !from[i].fact)
			jumped += from[i].share;
	/* A jump costs a cycle, more if its target is not in the predictor's tables; code
	 * outside the cache of decoded instructions must be decoded. */
	f->front.most =
		jumped * (1 + m->unknown * fmin(1, crowd_between(src->targets, f->executions) /
							   m->branches)) +
		m->decode * (head ? 2 : 1) *
			fmin(1, crowd_between(src->insns, f->executions) / m->decoded);
	f->front.likely =
		jumped * (JUMP_LIKELY +
			  m->unknown * crowd_lost(src->targets, f->executions, m->branches)) +
		m->decode * crowd_lost(src->insns, f->executions, m->decoded);
	if (head)
		place_branch(f, from, n, m);
}
