/* SPDX-License-Identifier: MIT */
/* A comparison under way, site by site, and what its parts share. */
#ifndef ASSAY_VERIFY_ACCURACY_PRIV_H
#define ASSAY_VERIFY_ACCURACY_PRIV_H

#include "verify/accuracy.h"

#define ACCURACY_SLACK 1e-9 /* tolerance for rounding when shares are compared */

struct accuracy_comparison {
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

void accuracy_error_add(struct accuracy_error *e, double weight, double error, double variance);

/* The variance of a share of n independent observations. */
static inline double accuracy_binomial(double p, uint64_t n)
{
	return p * (1 - p) / (double)n;
}

/* Whether a true share within [low, high] is compatible with the reported share +- bound. */
static inline bool accuracy_holds(const struct share *s, double low, double high)
{
	return high >= s->value - s->bound - ACCURACY_SLACK &&
	       low <= s->value + s->bound + ACCURACY_SLACK;
}

/* Adds the current site. NULL without memory. */
struct accuracy_site *accuracy_site_add(struct accuracy_comparison *c, struct accuracy_sites *list);
/* How much more often windows saw the site than if they were not weighted by time. */
double accuracy_times_seen(const struct accuracy_comparison *c, size_t k);
/* Observations of the site's operand (-1: of the site). With --common the smallest number over
 * all recordings. */
uint64_t accuracy_observations(const struct accuracy_comparison *c, size_t k, int operand);

/* Compare the current site with that of all recordings, or of one. -1 without memory. */
int accuracy_compare_values(struct accuracy_comparison *c);
int accuracy_compare_direction(struct accuracy_comparison *c, size_t k);

#endif
