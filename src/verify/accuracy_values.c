/* SPDX-License-Identifier: MIT */
/* Values, and targets of indirect jumps, compared. */
#include "verify/accuracy_priv.h"

#include <math.h>

#include "report/operands.h"

#define HOT_VALUES 20 /* largest number of hot values: 1 / ACCURACY_HOT */
#define ENTERED 0.99  /* part of the executions of a procedure's first instruction that are calls */

static const uint8_t kind_of[OPERAND_N] = {
	[OPERAND_RESULT] = ACCURACY_RESULT,   [OPERAND_RESULT2] = ACCURACY_RESULT,
	[OPERAND_LOAD] = ACCURACY_LOAD,	      [OPERAND_STORE] = ACCURACY_STORE,
	[OPERAND_ADDRESS] = ACCURACY_ADDRESS, [OPERAND_TARGET] = ACCURACY_TARGET,
	[OPERAND_RETURN] = ACCURACY_RETURN,   [OPERAND_ARG0] = ACCURACY_ARGUMENT,
	[OPERAND_ARG1] = ACCURACY_ARGUMENT,   [OPERAND_ARG2] = ACCURACY_ARGUMENT,
	[OPERAND_ARG3] = ACCURACY_ARGUMENT,   [OPERAND_ARG4] = ACCURACY_ARGUMENT,
	[OPERAND_ARG5] = ACCURACY_ARGUMENT,
};

/* The true values of one operand of a site, hottest first. */
struct truth {
	const struct hot *list;
	double total;
	struct hot_value *v;
	unsigned n;
	bool address; /* one of the hot values is an address */
};

/* Whether the value lies where the kernel places position-independent programs, mappings and
 * stacks, which move from run to run. */
static bool is_address(uint64_t value)
{
	return value >> 40 >= 0x55 && value >> 40 <= 0x7f;
}

/* Whether the value looks like a stack canary: seven random bytes, which are seldom 0, above a
 * 0. */
static bool is_canary(uint64_t value)
{
	bool all = !(value & 0xff);

	for (unsigned i = 1; i < 8; i++)
		all = all && (value >> 8 * i & 0xff);
	return all;
}

/* Whether the value differs between runs by its nature. */
static bool is_of_run(uint64_t value)
{
	return is_address(value) || is_canary(value);
}

static double low_of(const struct truth *t, const struct hot_value *v)
{
	return v->low / t->total;
}

static double high_of(const struct truth *t, const struct hot_value *v)
{
	return v->high / t->total;
}

static bool is_certain(const struct truth *t, const struct hot_value *v)
{
	return high_of(t, v) - low_of(t, v) <= ACCURACY_CERTAIN;
}

static bool is_hot(const struct truth *t, const struct hot_value *v)
{
	return low_of(t, v) >= ACCURACY_HOT;
}

static const struct hot_value *find(const struct hot_value *v, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		if (v[i].value == value)
			return &v[i];
	return NULL;
}

/* The bounds of a value that is not in the list. */
static struct hot_value absent(const struct hot *h, uint64_t value)
{
	double most = hot_rest_bound(h);

	return (struct hot_value){ .value = value,
				   .high = most,
				   .weight_high = fmin(most * HOT_WEIGHT_MAX, hot_weight(h)) };
}

/* Reads the hot values, and whether they are addresses. */
static void truth_begin(struct accuracy_comparison *c, struct truth *t, const struct hot *h)
{
	*t = (struct truth){ .list = h, .total = (double)hot_total(h), .v = c->truth };
	t->n = hot_top(h, t->v, HOT_VALUES);
	for (unsigned i = 0; i < t->n && (!i || is_hot(t, &t->v[i])); i++)
		t->address |= is_of_run(t->v[i].value);
}

static void truth_rest(struct truth *t)
{
	if (t->n < hot_distinct(t->list))
		t->n = hot_top(t->list, t->v, hot_distinct(t->list));
}

/* A comparison of two lists. */
struct pairing {
	struct accuracy_comparison *c;
	size_t k;
	const struct truth *t;
	struct truth again;	     /* the values of the other exact run */
	struct operand_values shown; /* the values as the readings show them */
	const struct hot *list;
	unsigned n;
	struct accuracy_values *to[2]; /* sums for operands of its kind, and for all */
};

static bool skips(const struct pairing *p, uint64_t value)
{
	return !p->c->o->all && is_of_run(value);
}

static void again_begin(struct pairing *p, int operand)
{
	const struct site *s = p->c->again_site;
	const struct hot *h = s ? site_hot(s, operand) : NULL;

	p->again = (struct truth){ .list = h, .v = p->c->second };
	if (!h || !hot_total(h))
		return;
	p->again.total = (double)hot_total(h);
	p->again.n = hot_top(h, p->again.v, hot_distinct(h));
}

/* Share of the value in the other exact run. */
static double again_share(const struct pairing *p, uint64_t value, double *low, double *high)
{
	const struct hot_value *v = find(p->again.v, p->again.n, value);
	struct hot_value none;

	*low = *high = 0;
	if (p->again.total <= 0)
		return 0;
	none = absent(p->again.list, value);
	v = v ? v : &none;
	*low = low_of(&p->again, v);
	*high = high_of(&p->again, v);
	return (*low + *high) / 2;
}

/* Whether the exact runs surely differ in the value's share. */
static bool differs(const struct pairing *p, const struct hot_value *v)
{
	double low, high;

	if (!p->c->again)
		return false;
	again_share(p, v->value, &low, &high);
	return low > high_of(p->t, v) + ACCURACY_AGREE || high < low_of(p->t, v) - ACCURACY_AGREE;
}

static struct share estimate(const struct pairing *p, uint64_t value)
{
	const struct hot_value *v = find(p->c->guess, p->n, value);
	struct hot_value none = absent(p->list, value);

	return operands_share(&p->c->sampled[p->k].view, p->c->site[p->k], p->list, v ? v : &none);
}

/* Compares a value. Returns how often it occurred; 0 if it is not compared. *worst: the greatest
 * square of the site. */
static double compare_value(struct pairing *p, const struct hot_value *v,
			    struct accuracy_site *site, double *worst)
{
	double exact = (low_of(p->t, v) + high_of(p->t, v)) / 2, weight = exact * p->t->total;
	double variance = accuracy_binomial(exact, p->shown.observations), error, square;
	struct share s;

	if (skips(p, v->value) || !is_certain(p->t, v))
		return 0;
	s = estimate(p, v->value);
	error = s.value - exact;
	if (differs(p, v)) {
		struct accuracy_differ *d = &p->c->a[p->k].differ_values;
		double low, high;

		accuracy_error_add(&d->error, weight, error, variance);
		accuracy_error_add(&d->between, weight,
				   again_share(p, v->value, &low, &high) - exact, 0);
		d->pairs++;
		return weight;
	}
	square = weight * error * error;
	site->square += square;
	for (int j = 0; j < 2; j++) {
		accuracy_error_add(&p->to[j]->error, weight, error, variance);
		accuracy_error_add(&p->to[j]->raw, weight, s.raw - exact, variance);
		p->to[j]->pairs++;
	}
	if (square > *worst) {
		*worst = square;
		site->value = v->value;
		site->sampled = s;
		site->exact = exact;
		site->chance = sqrt(variance);
	}
	return weight;
}

static int compare_shares(struct pairing *p)
{
	const struct truth *t = p->t;
	struct accuracy *a = &p->c->a[p->k];
	struct accuracy_site *site = accuracy_site_add(p->c, &a->worst_values);
	double known = 0, worst = -1;

	if (!site)
		return -1;
	site->operand = p->shown.operand;
	site->observations = p->shown.observations;
	site->executions = t->total;
	site->seen = accuracy_times_seen(p->c, p->k);
	for (unsigned i = 0; i < t->n; i++)
		known += compare_value(p, &t->v[i], site, &worst);
	if (worst < 0) /* No value was compared. */
		a->worst_values.n--;
	for (int j = 0; j < 2; j++) {
		p->to[j]->operands++;
		p->to[j]->executions.compared += t->total;
	}
	if (!hot_exact(t->list) && known < t->total)
		a->left_out.uncertain_ran += t->total - known;
	return 0;
}

static void look_for_hot(struct pairing *p)
{
	const struct truth *t = p->t;

	for (unsigned i = 0; i < t->n; i++) {
		const struct hot_value *v = &t->v[i];
		bool found = find(p->c->guess, p->n, v->value);

		if (skips(p, v->value) || !is_hot(t, v) || differs(p, v))
			continue;
		for (int j = 0; j < 2; j++) {
			p->to[j]->hot++;
			p->to[j]->found += found;
			p->to[j]->hot_ran += v->low;
			p->to[j]->found_ran += found ? v->low : 0;
		}
	}
}

/* Whether a value that neither exact run has may replace one on which they differ. */
static bool is_replaced(const struct pairing *p, uint64_t value)
{
	const struct truth *t = p->t;

	if (find(t->v, t->n, value) || find(p->again.v, p->again.n, value))
		return false;
	for (unsigned i = 0; i < t->n; i++)
		if (differs(p, &t->v[i]))
			return true;
	return false;
}

static void check_bounds(struct pairing *p)
{
	const struct truth *t = p->t;

	for (unsigned i = 0; i < p->shown.n; i++) {
		const struct share *s = &p->shown.share[i];
		uint64_t value = p->shown.value[i].value;
		const struct hot_value *v = find(t->v, t->n, value);
		struct hot_value none = absent(t->list, value);

		v = v ? v : &none;
		if ((i && s->value < ACCURACY_SHOWN) || skips(p, value) || !is_certain(t, v) ||
		    differs(p, v) || is_replaced(p, value))
			continue;
		for (int j = 0; j < 2; j++) {
			p->to[j]->bounds++;
			p->to[j]->held += accuracy_holds(s, low_of(t, v), high_of(t, v));
			p->to[j]->low_held += high_of(t, v) >= s->low - ACCURACY_SLACK;
		}
	}
}

static void compare_targets(struct pairing *p)
{
	const struct truth *t = p->t;
	struct accuracy_targets *to = &p->c->a[p->k].targets;

	to->sites++;
	to->executions.compared += t->total;
	for (unsigned i = 0; i < t->n; i++) {
		double exact = (low_of(t, &t->v[i]) + high_of(t, &t->v[i])) / 2;

		to->common += t->total * fmin(exact, estimate(p, t->v[i].value).value);
	}
}

/* Counts hot addresses. They are found only if both runs had them at the same places. */
static void count_addresses(struct accuracy_comparison *c, size_t k, const struct truth *t,
			    int operand)
{
	const struct hot *h = c->site[k] ? site_hot(c->site[k], operand) : NULL;
	struct accuracy_left_out *out = &c->a[k].left_out;
	unsigned n;

	if (!c->o->all) {
		out->addresses++;
		out->addresses_ran += t->total;
	}
	if (!h || hot_total(h) < c->o->min_hot)
		return;
	n = hot_top(h, c->guess, hot_distinct(h));
	for (unsigned i = 0; i < t->n && is_hot(t, &t->v[i]); i++) {
		if (!is_address(t->v[i].value))
			continue;
		out->hot_addresses++;
		out->agree += find(c->guess, n, t->v[i].value) != NULL;
	}
}

static int compare_operand(struct accuracy_comparison *c, size_t k, struct truth *t, int operand)
{
	struct accuracy *a = &c->a[k];
	struct pairing p = { .c = c,
			     .k = k,
			     .t = t,
			     .to = { &a->values[kind_of[operand]], &a->values[ACCURACY_ALL] } };
	uint64_t n = accuracy_observations(c, k, operand);
	int rc = 0;

	if (operand >= OPERAND_ARG0 &&
	    t->total < ENTERED * (double)c->exact->site[c->at]->observed) {
		a->left_out.jumped++;
		a->left_out.jumped_ran += t->total;
		return 0;
	}
	if (t->address)
		count_addresses(c, k, t, operand);
	if (t->address && !c->o->all)
		return 0;
	for (int j = 0; j < 2; j++)
		p.to[j]->executions.ran += t->total;
	if (operand == OPERAND_TARGET)
		a->targets.executions.ran += t->total;
	if (!n || (n < c->o->min && n < c->o->min_hot) ||
	    !operands_read(&p.shown, &c->sampled[k].view, c->site[k], operand))
		return 0;
	truth_rest(t);
	p.list = site_hot(c->site[k], operand);
	p.n = hot_top(p.list, c->guess, hot_distinct(p.list));
	if (c->again)
		again_begin(&p, operand);
	if (n >= c->o->min) {
		rc = compare_shares(&p);
		if (operand == OPERAND_TARGET)
			compare_targets(&p);
	}
	if (n >= c->o->min_hot) {
		look_for_hot(&p);
		check_bounds(&p);
	}
	return rc;
}

int accuracy_compare_values(struct accuracy_comparison *c)
{
	const struct site *e = c->exact->site[c->at];
	struct truth t;

	for (int operand = 0; operand < OPERAND_N; operand++) {
		if (!site_hot(e, operand) || !hot_total(site_hot(e, operand)))
			continue;
		truth_begin(c, &t, site_hot(e, operand));
		for (size_t k = 0; k < c->n; k++)
			if (compare_operand(c, k, &t, operand))
				return -1;
	}
	return 0;
}
