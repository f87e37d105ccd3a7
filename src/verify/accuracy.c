/* SPDX-License-Identifier: MIT */
#include "verify/accuracy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "x86/insn.h"
#include "report/match.h"
#include "report/operands.h"

#define SLACK 1e-9    /* tolerance for rounding when shares are compared */
#define HOT_VALUES 20 /* largest number of hot values: 1 / ACCURACY_HOT */
#define ENTERED 0.99  /* part of the executions of a procedure's first instruction that are calls */
#define EDGE 0.10     /* relative error below which an edge counts as estimated well */

const char *const accuracy_kind_name[ACCURACY_KIND_N] = {
	"all", "result", "load", "store", "address", "target", "return", "argument",
};
const double accuracy_within[ACCURACY_WITHIN] = { 0.05, 0.10, 0.15 };

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

struct comparison {
	struct accuracy *a;
	const struct reading *sampled;
	size_t n;
	const struct view *exact, *again; /* again: NULL if there is no second exact recording */
	const struct accuracy_options *o;
	/* by recording, by image of the exact one: the matching image, or MATCH_NONE */
	uint32_t **map;
	const struct site **site; /* by recording: the current site, or NULL */
	size_t at;		  /* the current site's index in the exact view */
	uint32_t *again_map;
	const struct site *again_site;
	bool again_seen; /* the other exact run had some site of the image */
	struct hot_value *truth, *guess, *second;
};

/* Sums of errors. */

static void error_add(struct accuracy_error *e, double weight, double error, double variance)
{
	e->weight += weight;
	e->square += weight * error * error;
	e->variance += weight * variance;
}

static void error_finish(struct accuracy_error *e)
{
	double beyond;

	if (e->weight <= 0) {
		e->rms = e->chance = e->beyond = NAN;
		return;
	}
	beyond = (e->square - e->variance) / e->weight;
	e->rms = sqrt(e->square / e->weight);
	e->chance = sqrt(e->variance / e->weight);
	e->beyond = beyond > 0 ? sqrt(beyond) : 0;
}

static double binomial(double p, uint64_t n)
{
	return p * (1 - p) / (double)n;
}

static struct accuracy_site *add_site(struct comparison *c, struct accuracy_sites *list)
{
	if (!array_reserve(list->v, list->cap, list->n + 1))
		return NULL;
	list->v[list->n] = (struct accuracy_site){ .at = c->at, .operand = -1 };
	return &list->v[list->n++];
}

/* How much more often windows saw the site than if they were not weighted by time. */
static double times_seen(const struct comparison *c, size_t k)
{
	const struct accuracy_coverage *cover = &c->a[k].coverage;
	const struct site *e = c->exact->site[c->at];

	if (!e->observed || cover->observed <= 0)
		return NAN;
	return (double)c->site[k]->observed / cover->observed * cover->ran / (double)e->observed;
}

/* Observations of the site's operand (-1: of the site). With --common the smallest number over
 * all recordings. */
static uint64_t observations(const struct comparison *c, size_t k, int operand)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < c->n; i++) {
		const struct site *s = c->site[i];
		const struct hot *h = s && operand >= 0 ? site_hot(s, operand) : NULL;
		uint64_t n = operand >= 0 ? (h ? hot_total(h) : 0) : (s ? s->observed : 0);

		if ((i == k || c->o->common) && n < least)
			least = n;
	}
	return least;
}

/* Classes of values. */

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
static void truth_begin(struct comparison *c, struct truth *t, const struct hot *h)
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
	struct comparison *c;
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
	double variance = binomial(exact, p->shown.observations), error, square;
	struct share s;

	if (skips(p, v->value) || !is_certain(p->t, v))
		return 0;
	s = estimate(p, v->value);
	error = s.value - exact;
	if (differs(p, v)) {
		struct accuracy_differ *d = &p->c->a[p->k].differ_values;
		double low, high;

		error_add(&d->error, weight, error, variance);
		error_add(&d->between, weight, again_share(p, v->value, &low, &high) - exact, 0);
		d->pairs++;
		return weight;
	}
	square = weight * error * error;
	site->square += square;
	for (int j = 0; j < 2; j++) {
		error_add(&p->to[j]->error, weight, error, variance);
		error_add(&p->to[j]->raw, weight, s.raw - exact, variance);
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
	struct accuracy_site *site = add_site(p->c, &a->worst_values);
	double known = 0, worst = -1;

	if (!site)
		return -1;
	site->operand = p->shown.operand;
	site->observations = p->shown.observations;
	site->executions = t->total;
	site->seen = times_seen(p->c, p->k);
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

/* Whether a true share within [low, high] is compatible with the reported share +- bound. */
static bool holds(const struct share *s, double low, double high)
{
	return high >= s->value - s->bound - SLACK && low <= s->value + s->bound + SLACK;
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
			p->to[j]->held += holds(s, low_of(t, v), high_of(t, v));
			p->to[j]->low_held += high_of(t, v) >= s->low - SLACK;
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
static void count_addresses(struct comparison *c, size_t k, const struct truth *t, int operand)
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

static int compare_operand(struct comparison *c, size_t k, struct truth *t, int operand)
{
	struct accuracy *a = &c->a[k];
	struct pairing p = { .c = c,
			     .k = k,
			     .t = t,
			     .to = { &a->values[kind_of[operand]], &a->values[ACCURACY_ALL] } };
	uint64_t n = observations(c, k, operand);
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

static int compare_values(struct comparison *c)
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

/* Directions of branches. */

/* Executions of an outcome whose estimate is within a tenth of it. */
static double close_outcome(double weight, double exact, double error)
{
	return fabs(error) <= EDGE * exact + SLACK ? weight * exact : 0;
}

static int add_direction(struct comparison *c, size_t k, const struct share *s, double exact)
{
	struct accuracy_directions *d = &c->a[k].directions;
	const struct site *e = c->exact->site[c->at];
	struct accuracy_site *site = add_site(c, &c->a[k].worst_directions);
	double weight = (double)e->observed, error = s->value - exact, variance;

	if (!site)
		return -1;
	variance = binomial(exact, c->site[k]->observed);
	error_add(&d->error, weight, error, variance);
	error_add(&d->raw, weight, s->raw - exact, variance);
	d->sites++;
	d->executions.compared += weight;
	d->common += weight * (1 - fabs(error));
	d->close += close_outcome(weight, exact, error) + close_outcome(weight, 1 - exact, error);
	for (int i = 0; i < ACCURACY_WITHIN; i++)
		d->within[i] += fabs(error) <= accuracy_within[i] + SLACK ? weight : 0;
	site->observations = c->site[k]->observed;
	site->sampled = *s;
	site->exact = exact;
	site->chance = sqrt(variance);
	site->executions = weight;
	site->square = weight * error * error;
	site->seen = times_seen(c, k);
	return 0;
}

/* Whether the branch's share in the other exact run differs. */
static bool direction_differs(const struct comparison *c, double exact, double *other)
{
	const struct site *s = c->again_site;

	if (!c->again)
		return false;
	*other = s && s->observed ? (double)s->taken / (double)s->observed : NAN;
	return !(fabs(*other - exact) <= ACCURACY_AGREE);
}

static void add_differing(struct comparison *c, size_t k, const struct share *s, double exact,
			  double other)
{
	struct accuracy_differ *d = &c->a[k].differ_directions;
	double weight = (double)c->exact->site[c->at]->observed;

	error_add(&d->error, weight, s->value - exact, binomial(exact, c->site[k]->observed));
	if (!isnan(other))
		error_add(&d->between, weight, other - exact, 0);
	d->pairs++;
}

static int compare_direction(struct comparison *c, size_t k)
{
	struct accuracy_directions *d = &c->a[k].directions;
	const struct site *e = c->exact->site[c->at], *s = c->site[k];
	double exact = (double)e->taken / (double)e->observed, other = NAN;
	uint64_t n = observations(c, k, -1);
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
		d->held += holds(&share, exact, exact);
	}
	return n >= c->o->min ? add_direction(c, k, &share, exact) : 0;
}

/* Coverage. */

static void count_executions(struct comparison *c, struct accuracy_coverage *cover)
{
	for (size_t i = 0; i < c->exact->n; i++) {
		const struct site *e = c->exact->site[i];

		if (match_is_file(c->exact, e->id.image)) {
			cover->ran += (double)e->observed;
			cover->sites += e->observed > 0;
		} else {
			cover->elsewhere += (double)e->observed;
		}
	}
}

static void count_observations(struct comparison *c, size_t k)
{
	struct accuracy_coverage *cover = &c->a[k].coverage;
	const struct view *v = &c->sampled[k].view;
	uint32_t image = MATCH_NONE, other = MATCH_NONE;

	for (size_t i = 0; i < v->n; i++) {
		const struct site *s = v->site[i], *e;

		if (!s->observed || !match_is_file(v, s->id.image))
			continue;
		if (image != s->id.image)
			other = match_find(c->exact, v->image[s->id.image].image);
		image = s->id.image;
		e = other == MATCH_NONE ? NULL
					: profile_site_find(c->exact->profile,
							    (struct site_id){ .image = other,
									      .addr = s->id.addr });
		cover->observed += (double)s->observed;
		if (!e || !e->observed) {
			cover->strays++;
			cover->strays_observed += (double)s->observed;
		}
	}
}

static void cover_site(struct comparison *c, size_t k)
{
	struct accuracy_coverage *cover = &c->a[k].coverage;
	const struct site *e = c->exact->site[c->at], *s = c->site[k];

	if (!s || !s->observed)
		return;
	cover->seen++;
	cover->seen_ran += (double)e->observed;
	if (observations(c, k, -1) >= c->o->min)
		cover->enough_ran += (double)e->observed;
	cover->common +=
		fmin((double)e->observed / cover->ran, (double)s->observed / cover->observed);
}

/* All measures together. */

static int by_square(const void *a, const void *b)
{
	const struct accuracy_site *s = a, *t = b;

	if (s->square != t->square)
		return s->square > t->square ? -1 : 1;
	if (s->at != t->at)
		return s->at < t->at ? -1 : 1;
	return s->operand - t->operand;
}

static void finish(struct accuracy *a)
{
	for (int i = 0; i < ACCURACY_KIND_N; i++) {
		error_finish(&a->values[i].error);
		error_finish(&a->values[i].raw);
	}
	error_finish(&a->directions.error);
	error_finish(&a->directions.raw);
	error_finish(&a->differ_values.error);
	error_finish(&a->differ_values.between);
	error_finish(&a->differ_directions.error);
	error_finish(&a->differ_directions.between);
	if (a->worst_values.n)
		qsort(a->worst_values.v, a->worst_values.n, sizeof(*a->worst_values.v), by_square);
	if (a->worst_directions.n)
		qsort(a->worst_directions.v, a->worst_directions.n, sizeof(*a->worst_directions.v),
		      by_square);
}

/* The current site in any other recording; NULL: no other has it. */
static const struct site *site_in(const struct comparison *c, const struct view *in,
				  const uint32_t *map)
{
	const struct site *e = c->exact->site[c->at];
	uint32_t image = map[e->id.image];

	return image == MATCH_NONE
		       ? NULL
		       : profile_site_find(in->profile,
					   (struct site_id){ .image = image, .addr = e->id.addr });
}

static void find_sites(struct comparison *c)
{
	for (size_t k = 0; k < c->n; k++)
		c->site[k] = site_in(c, &c->sampled[k].view, c->map[k]);
	if (c->again)
		c->again_site = site_in(c, c->again, c->again_map);
	c->again_seen |= c->again_site != NULL;
}

static int walk(struct comparison *c)
{
	for (c->at = 0; c->at < c->exact->n; c->at++) {
		const struct site *e = c->exact->site[c->at];

		if (!e->observed || !match_is_file(c->exact, e->id.image))
			continue;
		find_sites(c);
		for (size_t k = 0; k < c->n; k++) {
			cover_site(c, k);
			if (compare_direction(c, k))
				return -1;
		}
		if (compare_values(c))
			return -1;
	}
	return 0;
}

/* Maps images of the exact recording to those of another; NULL without memory. */
static uint32_t *map_images(const struct comparison *c, const struct view *in)
{
	size_t images = c->exact->profile->nimage;
	uint32_t *map = calloc(images + 1, sizeof(*map));

	for (uint32_t i = 0; map && i < images; i++)
		map[i] = match_is_file(c->exact, i) ? match_find(in, c->exact->image[i].image)
						    : MATCH_NONE;
	return map;
}

/* Returns -1 without memory. */
static int begin(struct comparison *c)
{
	c->map = calloc(c->n + 1, sizeof(*c->map));
	c->site = calloc(c->n + 1, sizeof(*c->site));
	c->truth = malloc(HOT_CAPACITY_MAX * sizeof(*c->truth));
	c->guess = malloc(HOT_CAPACITY_MAX * sizeof(*c->guess));
	c->second = malloc(HOT_CAPACITY_MAX * sizeof(*c->second));
	if (!c->map || !c->site || !c->truth || !c->guess || !c->second)
		return -1;
	if (c->again && !(c->again_map = map_images(c, c->again)))
		return -1;
	for (size_t k = 0; k < c->n; k++) {
		c->map[k] = map_images(c, &c->sampled[k].view);
		if (!c->map[k])
			return -1;
		count_executions(c, &c->a[k].coverage);
		count_observations(c, k);
	}
	return 0;
}

int accuracy_measure(struct accuracy *a, const struct reading *sampled, size_t n,
		     const struct reading *exact, const struct reading *again,
		     const struct accuracy_options *o, struct err *err)
{
	struct comparison c = { .a = a,
				.sampled = sampled,
				.n = n,
				.exact = &exact->view,
				.again = again ? &again->view : NULL,
				.o = o };
	int rc = 0;

	memset(a, 0, n * sizeof(*a));
	for (size_t k = 0; k < n && !rc; k++)
		rc = match_builds(&sampled[k], exact, err);
	if (!rc && again)
		rc = match_builds(again, exact, err);
	if (!rc && (begin(&c) || walk(&c))) {
		err_no_memory(err, "the comparison");
		rc = -1;
	}
	for (size_t k = 0; k < n && !rc; k++)
		if (!a[k].coverage.seen)
			rc = match_nothing(&sampled[k], exact, err);
	if (!rc && again && !c.again_seen)
		rc = match_nothing(again, exact, err);
	for (size_t k = 0; k < n; k++) {
		finish(&a[k]);
		if (rc)
			accuracy_fini(&a[k]);
		free(c.map ? c.map[k] : NULL);
	}
	free(c.map);
	free(c.site);
	free(c.truth);
	free(c.guess);
	free(c.second);
	free(c.again_map);
	return rc;
}

void accuracy_fini(struct accuracy *a)
{
	free(a->worst_values.v);
	free(a->worst_directions.v);
	a->worst_values = a->worst_directions = (struct accuracy_sites){ 0 };
}
