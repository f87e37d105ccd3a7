/* SPDX-License-Identifier: MIT */
/* The stages of an estimate. */
#ifndef ASSAY_ESTIMATE_ESTIMATE_PRIV_H
#define ASSAY_ESTIMATE_ESTIMATE_PRIV_H

#include "estimate/estimate.h"

struct estimate_range {
	uint32_t image, proc;
	uint64_t start, end;
};

/* Finds the procedures in which the recording has sites, and its evidence of them. -1 with err set. */
int evidence_collect(struct estimate *e, const struct estimate_source *src, struct err *err);

/* DCPI's method: classes, propagation. */
int dcpi_estimate(struct estimate *e, const struct estimate_source *src, struct err *err);

/* Flow from branch outcomes. */
int walk_estimate(struct estimate *e, struct err *err);

/* Replaces estimates by counts, and sets the scale of the remaining estimates. src has a count
 * function. */
int counted_estimate(struct estimate *e, const struct estimate_source *src, struct err *err);

static inline bool confidence_known(struct estimate_value v)
{
	return v.confidence != CONFIDENCE_NONE;
}

/* Errors, as logarithms, within which estimates of high and of medium confidence should stay. */
#define ESTIMATE_SURE 0.05
#define ESTIMATE_LIKELY 0.15

static inline uint8_t confidence_of(double error)
{
	return error <= ESTIMATE_SURE	  ? CONFIDENCE_HIGH
	       : error <= ESTIMATE_LIKELY ? CONFIDENCE_MEDIUM
					  : CONFIDENCE_LOW;
}

#endif
