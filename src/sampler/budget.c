/* SPDX-License-Identifier: MIT */
#include "sampler/budget.h"

#include <math.h>

void budget_begin(struct budget *b, double part, unsigned cpus)
{
	*b = (struct budget){ .share = part * cpus, .every = 1 };
}

/* Whether the budget would allow more windows, if the CPU time taken grows with their number. */
static bool allows_more(const struct budget *b, double allowed, double took)
{
	return b->left > b->share * BUDGET_SAVED_S * 1e9 / 2 &&
	       took * b->every <= allowed * (b->every - 1);
}

unsigned budget_tell(struct budget *b, uint64_t elapsed, uint64_t taken)
{
	double allowed = b->share * (double)(elapsed - b->elapsed);
	double took = (double)(taken - b->taken);

	b->elapsed = elapsed;
	b->taken = taken;
	if (b->share <= 0)
		return b->every;
	b->left = fmin(b->left + allowed - took, b->share * BUDGET_SAVED_S * 1e9);
	if (b->left < 0 && took > allowed && b->every < BUDGET_MOST)
		b->every++;
	else if (b->every > 1 && allows_more(b, allowed, took))
		b->every--;
	return b->every;
}
