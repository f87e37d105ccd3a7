/* SPDX-License-Identifier: MIT */
/*
 * Loads and the stores that they meet: first those whose forwarding fails, then those that only have similar addresses,
 * then those that are forwarded; within each kind the ones with most time at the load (executions, in an exact
 * recording).
 */
#ifndef ASSAY_REPORT_CONFLICTS_H
#define ASSAY_REPORT_CONFLICTS_H

#include "report/reading.h"

#define CONFLICTS_KINDS "partial alias full"

struct conflicts_options {
	const char *kinds;     /* comma-separated words of CONFLICTS_KINDS; NULL: all */
	const char *image;     /* image of the load: shell pattern, or NULL */
	const char *procedure; /* procedure of the load or the store, as for lookup_proc, or NULL */
	double min_share;      /* least share of the load's executions */
	unsigned n;	       /* number of rows; 0: all */
};

int conflicts_print(struct reading *r, const struct conflicts_options *o, struct err *err);

#endif
