/* SPDX-License-Identifier: MIT */
/*
 * How well sampled recordings estimate what an exact one of the same run knows: the measures of
 * verify/accuracy.h as tables, with a line for each sampled recording, and the sites with the
 * largest errors.
 */
#ifndef ASSAY_VERIFY_VERIFY_H
#define ASSAY_VERIFY_VERIFY_H

#include "verify/accuracy.h"

#define VERIFY_MAX 26 /* largest number of recordings, which letters name */

struct verify_options {
	char **path; /* n paths; the last is the exact recording's */
	size_t n;
	struct accuracy_options measure;
	unsigned worst; /* number of sites listed */
	/* all methods of estimating frequencies; otherwise DCPI's and the default */
	bool methods;
	bool histogram; /* show histograms of their errors */
	double repeat;	/* how often the sampled runs repeated the exact run's work */
	bool json, wide, explain;
	binary_warn warn;
};

int verify_print(const struct verify_options *o, struct err *err);

#endif
