/* SPDX-License-Identifier: MIT */
/*
 * Bounds by events of other kinds (seed 003, section 6.3: no more stalls for misses than there were misses). They are of
 * another run, on a simulated machine that is not quite the one that was sampled.
 */
#include <math.h>

#include "culprit/facts.h"

#define MARGIN 2.0   /* times as many as are known */
#define RARELY 0.001 /* … and of executions, where none is */

/* Kinds of events from `first` on, as many as there are; the last one stands for all levels behind it, too. */
static struct odds cost_of(const double each[MISS_KIND_N], int first, int kinds,
			   const struct machine_level level[MACHINE_LEVELS])
{
	struct odds sum = { 0, 0 };

	for (int i = 0; i < MACHINE_LEVELS; i++) {
		double n = each[first + (i < kinds ? i : kinds - 1)];
		/* the last level of caches is shared with all that runs on the machine */
		double most = each[first + (i < MACHINE_LEVELS - 1 ? i : MACHINE_LEVELS - 2)];

		sum.most += (MARGIN * most + RARELY) * level[i].penalty;
		sum.likely += n * level[i].likely;
	}
	return sum;
}

struct odds fact_tighter(struct odds a, struct odds b)
{
	double most = fmin(a.most, b.most);

	if (isinf(b.most))
		return a;
	return (struct odds){ most, fmin(most, b.likely) };
}

void fact_missed(struct fact *f, const double each[MISS_KIND_N], const struct culprit_machine *m)
{
	double wrong = each[MISS_MISPREDICTED];

	f->dcache = fact_tighter(f->dcache, cost_of(each, MISS_L1D, 3, m->data));
	f->dtlb = fact_tighter(f->dtlb, cost_of(each, MISS_DTLB, 2, m->dtlb));
	f->mispredicted =
		fact_tighter(f->mispredicted, (struct odds){ MARGIN * wrong + RARELY, wrong });
	f->fetch_line = cost_of(each, MISS_L1I, 3, m->code);
	f->fetch_page = cost_of(each, MISS_ITLB, 2, m->itlb);
}
