/* SPDX-License-Identifier: MIT */
#include "verify/accuracy_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/match.h"

const char *const accuracy_kind_name[ACCURACY_KIND_N] = {
	"all", "result", "load", "store", "address", "target", "return", "argument",
};
const double accuracy_within[ACCURACY_WITHIN] = { 0.05, 0.10, 0.15 };

/* Sums of errors. */

void accuracy_error_add(struct accuracy_error *e, double weight, double error, double variance)
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

struct accuracy_site *accuracy_site_add(struct accuracy_comparison *c, struct accuracy_sites *list)
{
	if (!array_reserve(list->v, list->cap, list->n + 1))
		return NULL;
	list->v[list->n] = (struct accuracy_site){ .at = c->at, .operand = -1 };
	return &list->v[list->n++];
}

double accuracy_times_seen(const struct accuracy_comparison *c, size_t k)
{
	const struct accuracy_coverage *cover = &c->a[k].coverage;
	const struct site *e = c->exact->site[c->at];

	if (!e->observed || cover->observed <= 0)
		return NAN;
	return (double)c->site[k]->observed / cover->observed * cover->ran / (double)e->observed;
}

uint64_t accuracy_observations(const struct accuracy_comparison *c, size_t k, int operand)
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

/* Coverage. */

static void count_executions(struct accuracy_comparison *c, struct accuracy_coverage *cover)
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

static void count_observations(struct accuracy_comparison *c, size_t k)
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

static void cover_site(struct accuracy_comparison *c, size_t k)
{
	struct accuracy_coverage *cover = &c->a[k].coverage;
	const struct site *e = c->exact->site[c->at], *s = c->site[k];

	if (!s || !s->observed)
		return;
	cover->seen++;
	cover->seen_ran += (double)e->observed;
	if (accuracy_observations(c, k, -1) >= c->o->min)
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
static const struct site *site_in(const struct accuracy_comparison *c, const struct view *in,
				  const uint32_t *map)
{
	const struct site *e = c->exact->site[c->at];
	uint32_t image = map[e->id.image];

	return image == MATCH_NONE
		       ? NULL
		       : profile_site_find(in->profile,
					   (struct site_id){ .image = image, .addr = e->id.addr });
}

static void find_sites(struct accuracy_comparison *c)
{
	for (size_t k = 0; k < c->n; k++)
		c->site[k] = site_in(c, &c->sampled[k].view, c->map[k]);
	if (c->again)
		c->again_site = site_in(c, c->again, c->again_map);
	c->again_seen |= c->again_site != NULL;
}

static int walk(struct accuracy_comparison *c)
{
	for (c->at = 0; c->at < c->exact->n; c->at++) {
		const struct site *e = c->exact->site[c->at];

		if (!e->observed || !match_is_file(c->exact, e->id.image))
			continue;
		find_sites(c);
		for (size_t k = 0; k < c->n; k++) {
			cover_site(c, k);
			if (accuracy_compare_direction(c, k))
				return -1;
		}
		if (accuracy_compare_values(c))
			return -1;
	}
	return 0;
}

/* Maps images of the exact recording to those of another; NULL without memory. */
static uint32_t *map_images(const struct accuracy_comparison *c, const struct view *in)
{
	size_t images = c->exact->profile->nimage;
	uint32_t *map = calloc(images + 1, sizeof(*map));

	for (uint32_t i = 0; map && i < images; i++)
		map[i] = match_is_file(c->exact, i) ? match_find(in, c->exact->image[i].image)
						    : MATCH_NONE;
	return map;
}

/* Returns -1 without memory. */
static int begin(struct accuracy_comparison *c)
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
	struct accuracy_comparison c = { .a = a,
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
