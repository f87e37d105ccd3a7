/* SPDX-License-Identifier: MIT */
#include "observe/pace.h"

#include <stdlib.h>
#include <string.h>

#include "x86/insn.h"
#include "model/branch.h"
#include "runahead/state.h"

struct pace {
	struct branch_predictor *predictor;
	double looked, wrong; /* instructions of windows so far; mispredictions in them */
	/* branches of the current window that were mispredicted, and of which the predictor was sure */
	bool wrong_at[RA_BURST_MAX], sure_at[RA_BURST_MAX];
};

static struct pace *pace_of(struct profile *p)
{
	if (p->pace)
		return p->pace;
	p->pace = calloc(1, sizeof(*p->pace));
	if (p->pace)
		p->pace->predictor = branch_new();
	if (p->pace && !p->pace->predictor)
		pace_free(p);
	return p->pace;
}

void pace_free(struct profile *p)
{
	if (p->pace)
		branch_free(p->pace->predictor);
	free(p->pace);
	p->pace = NULL;
}

bool pace_is_predicted(const struct retired *r)
{
	return r->cls == INSN_BRANCH ||
	       ((r->cls == INSN_IJUMP || r->cls == INSN_ICALL) && r->have >> OPERAND_TARGET & 1);
}

static bool predict(struct branch_predictor *b, const struct retired *r)
{
	uint64_t pc = r->site.addr ^ (uint64_t)r->site.image << 44;

	return r->cls == INSN_BRANCH ? branch_conditional(b, pc, r->taken)
				     : branch_indirect(b, pc, r->value[OPERAND_TARGET]);
}

/* Returns the mean cycles of an instruction if this part of the instructions is mispredicted. */
static double cycles(double wrong)
{
	return PACE_CYCLES + PACE_WRONG * wrong;
}

int pace_window(struct profile *p, const struct window *w, double *factor)
{
	uint32_t n = w->n < RA_BURST_MAX ? w->n : RA_BURST_MAX, branches = 0, wrong = 0, looked = 0;
	struct pace *t = pace_of(p);
	double usual;

	if (!t)
		return -1;
	memset(t->wrong_at, 0, n * sizeof(t->wrong_at[0]));
	memset(t->sure_at, 0, n * sizeof(t->sure_at[0]));
	for (uint32_t i = 0; i < n; i++) {
		if (!pace_is_predicted(&w->ri[i]))
			continue;
		t->wrong_at[i] = predict(t->predictor, &w->ri[i]);
		t->sure_at[i] = branch_sure(t->predictor);
		wrong += branches >= PACE_OUTCOMES && t->wrong_at[i];
		if (++branches == PACE_OUTCOMES)
			looked = n - i - 1;
	}
	t->looked += looked;
	t->wrong += wrong;
	usual = t->looked > 0 ? t->wrong / t->looked : 0;
	*factor = cycles(usual) / cycles((wrong + PACE_PRIOR * usual) / (looked + PACE_PRIOR));
	return 0;
}

bool pace_wrong(const struct profile *p, uint32_t i)
{
	return p->pace && i < RA_BURST_MAX && p->pace->wrong_at[i];
}

bool pace_sure(const struct profile *p, uint32_t i)
{
	return p->pace && i < RA_BURST_MAX && p->pace->sure_at[i];
}
