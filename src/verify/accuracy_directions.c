/* SPDX-License-Identifier: MIT */
/* Directions of branches, compared. */
#include "verify/accuracy_priv.h"

#include <math.h>

#include "report/operands.h"
#include "x86/insn.h"

#define EDGE 0.10 /* relative error below which an edge counts as estimated well */

/* Executions of an outcome whose estimate is within a tenth of it. */
static double close_outcome(double weight, double exact, double error)
{
	return fabs(error) <= EDGE * exact + ACCURACY_SLACK ? weight * exact : 0;
}

static int add_direction(struct accuracy_comparison *c, size_t k, const struct share *s,
			 double exact)
{
	struct accuracy_directions *d = &c->a[k].directions;
	const struct site *e = c->exact->site[c->at];
	struct accuracy_site *site = accuracy_site_add(c, &c->a[k].worst_directions);
	double weight = (double)e->observed, error = s->value - exact, variance;

	if (!site)
		return -1;
	variance = accuracy_binomial(exact, c->site[k]->observed);
	accuracy_error_add(&d->error, weight, error, variance);
	accuracy_error_add(&d->raw, weight, s->raw - exact, variance);
	d->sites++;
	d->executions.compared += weight;
	d->common += weight * (1 - fabs(error));
	d->close += close_outcome(weight, exact, error) + close_outcome(weight, 1 - exact, error);
	for (int i = 0; i < ACCURACY_WITHIN; i++)
		d->within[i] += fabs(error) <= accuracy_within[i] + ACCURACY_SLACK ? weight : 0;
	site->observations = c->site[k]->observed;
	site->sampled = *s;
	site->exact = exact;
	site->chance = sqrt(variance);
	site->executions = weight;
	site->square = weight * error * error;
	site->seen = accuracy_times_seen(c, k);
	return 0;
}

/* Whether the branch's share in the other exact run differs. */
static bool direction_differs(const struct accuracy_comparison *c, double exact, double *other)
{
	const struct site *s = c->again_site;

	if (!c->again)
		return false;
	*other = s && s->observed ? (double)s->taken / (double)s->observed : NAN;
	return !(fabs(*other - exact) <= ACCURACY_AGREE);
}

static void add_differing(struct accuracy_comparison *c, size_t k, const struct share *s,
			  double exact, double other)
{
	struct accuracy_differ *d = &c->a[k].differ_directions;
	double weight = (double)c->exact->site[c->at]->observed;

	accuracy_error_add(&d->error, weight, s->value - exact,
			   accuracy_binomial(exact, c->site[k]->observed));
	if (!isnan(other))
		accuracy_error_add(&d->between, weight, other - exact, 0);
	d->pairs++;
}

int accuracy_compare_direction(struct accuracy_comparison *c, size_t k)
{
	struct accuracy_directions *d = &c->a[k].directions;
	const struct site *e = c->exact->site[c->at], *s = c->site[k];
	double exact = (double)e->taken / (double)e->observed, other = NAN;
	uint64_t n = accuracy_observations(c, k, -1);
	struct share share;

	if (e->cls != INSN_BRANCH)
		return 0;
	d->executions.ran += (double)e->observed;
	if (!s || !n)
		return 0;
	share = operands_taken(&c->sampled[k].view, s);
	if (direction_differs(c, exact, &other)) {
		if (n >= c->o->min)
			add_differing(c, k, &share, exact, other);
		return 0;
	}
	if (n >= c->o->min_hot) {
		d->bounds++;
		d->held += accuracy_holds(&share, exact, exact);
	}
	return n >= c->o->min ? add_direction(c, k, &share, exact) : 0;
}
