/* SPDX-License-Identifier: MIT */
/*
 * Bounds from counted misses (Anderson et al., SOSP 1997: there are no more stalls for misses than
 * misses). The misses come from another run, on a simulated machine that differs from the sampled
 * one.
 */
#include <math.h>

#include "culprit/facts.h"

#define MARGIN 2.0   /* factor by which real misses may exceed the known ones */
#define RARELY 0.001 /* share of executions that may miss if no miss is known */

/* The cost of the kinds of misses from `first` on; the last kind stands for all levels beyond it. */
static struct odds cost_of(const double each[MISS_KIND_N], int first, int kinds,
			   struct hiding hiding, const struct machine_level level[MACHINE_LEVELS])
{
	struct odds sum = { 0, 0 };

	for (int i = 0; i < MACHINE_LEVELS; i++) {
		double n = each[first + (i < kinds ? i : kinds - 1)];
		/* the last cache level is shared with the rest of the machine */
		double most = each[first + (i < MACHINE_LEVELS - 1 ? i : MACHINE_LEVELS - 2)];

		sum.most += (MARGIN * most + RARELY) * level[i].penalty;
		sum.likely += n * hiding_cost(hiding, &level[i]);
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

	f->dcache = fact_tighter(f->dcache, cost_of(each, MISS_L1D, 3, f->hide_line, m->data));
	f->dtlb = fact_tighter(f->dtlb, cost_of(each, MISS_DTLB, 2, f->hide_page, m->dtlb));
	f->mispredicted =
		fact_tighter(f->mispredicted, (struct odds){ MARGIN * wrong + RARELY, wrong });
	f->fetch_line = cost_of(each, MISS_L1I, 3, HIDES_NOTHING, m->code);
	f->fetch_page = cost_of(each, MISS_ITLB, 2, HIDES_NOTHING, m->itlb);
}
