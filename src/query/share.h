/* SPDX-License-Identifier: MIT */
/*
 * Shares, and how far they can be trusted.
 *
 * A share of n observations carries the Wilson score interval at 95 % (it stays within 0 and 1 and holds for small n
 * and shares near the ends, where the plain standard error does not). Where a hot list kept only bounds of a count, the
 * interval reaches from the lower limit of its least count to the upper limit of its greatest.
 *
 * Weights (observe/profile.h) correct a bias, but leave some of it: SHARE_DRIFT of the distance by which they move a
 * share, and SHARE_DOUBT of the binomial deviation p (1 - p). With these, more than 95 % of the bounds hold in windows
 * of six programs (docs/results.md).
 */
#ifndef ASSAY_QUERY_SHARE_H
#define ASSAY_QUERY_SHARE_H

#include "sketch/hot.h"

struct share {
	double value;
	double low, high; /* confidence limits */
	double bound;	  /* the greater distance of a limit from the value */
	double raw;	  /* share by plain counts, where the value is weighted */
};

/* The share of `part` in n independent observations; for n = 0, the share 0 with the limits 0 and
 * 1. */
struct share share_of(double part, double n);
/* The share of a hot value among `total` observations, of which `independent` count as
 * independent. */
struct share share_hot(const struct hot_value *v, double total, double independent);
/* The weighted share of a hot value, with occurrences that weigh `weight` in total. The limits
 * include the bias that weights did not remove, which is estimated by how far they moved the
 * share. */
struct share share_weighed(const struct hot_value *v, double total, double weight,
			   double independent);
/* The share of a hot value where everything was observed: only the list's bounds remain. A bound
 * of 0: the share is exact. */
struct share share_all(const struct hot_value *v, double total);

#endif
