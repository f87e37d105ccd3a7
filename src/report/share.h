/* SPDX-License-Identifier: MIT */
/*
 * Shares, and how far they can be trusted.
 *
 * A share of n observations carries the Wilson score interval at 95 % (it stays within 0 and 1 and
 * holds for small n and shares near the ends, where the plain standard error does not). Where a hot
 * list kept only bounds of a count, the interval reaches from the lower limit of its least count to the
 * upper limit of its greatest.
 */
#ifndef ASSAY_REPORT_SHARE_H
#define ASSAY_REPORT_SHARE_H

#include "sketch/hot.h"

struct share {
	double value;
	double low, high; /* confidence limits */
	double bound;	  /* the greater distance of the two from the value */
};

/* part of n independent observations; n = 0: nothing is known, 0 in [0, 1]. */
struct share share_of(double part, double n);
/* Of a hot value among `total` observations, of which as many as `independent` are independent. */
struct share share_hot(const struct hot_value *v, double total, double independent);
/* … where all were observed: the list's own bounds are all there is. A bound of 0: the share is exact. */
struct share share_all(const struct hot_value *v, double total);

#endif
