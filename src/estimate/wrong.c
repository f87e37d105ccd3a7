/* SPDX-License-Identifier: MIT */
#include "estimate/wrong.h"

#include <math.h>

#include "x86/insn.h"
#include "observe/locality.h"

#define PRIOR 4.0 /* observations of predicted branches that the prior counts as */

static double other_way(const struct site *s, double *n)
{
	struct site_weights w = site_weights(s);
	double p = w.observed > 0 ? w.taken / w.observed : 0.5;

	*n = (double)(s->windows ? s->windows : s->observed);
	return *n <= 0 ? WRONG_USUAL : p < 0.5 ? p : 1 - p;
}

static double other_target(const struct site *s, double *n)
{
	const struct hot *h = site_hot(s, OPERAND_TARGET);
	struct hot_value v = { 0 };

	*n = h && hot_top(h, &v, 1) ? (double)hot_total(h) : 0;
	return *n > 0 ? (*n - (double)v.low) / *n : WRONG_USUAL;
}

double wrong_rarer(const struct site *s, uint8_t cls, double *n)
{
	*n = 0;
	switch (cls) {
	case INSN_BRANCH:
		return other_way(s, n);
	case INSN_IJUMP:
	case INSN_ICALL:
		return other_target(s, n);
	default: /* direct jumps; returns are judged by their calls */
		return 0;
	}
}

double wrong_predicted(const struct site *s, uint8_t cls)
{
	struct locality seen;
	double n, rarer;

	if (!s)
		return WRONG_USUAL;
	rarer = wrong_rarer(s, cls, &n);
	seen = locality_get(s);
	if (!seen.branches)
		return rarer;
	return fmin(rarer,
		    ((double)seen.mispredicted + PRIOR * rarer) / ((double)seen.branches + PRIOR));
}
