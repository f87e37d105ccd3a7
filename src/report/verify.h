/* SPDX-License-Identifier: MIT */
/*
 * How well sampled recordings estimate what an exact one of the same run knows: the measures of
 * report/accuracy.h as tables, a line for each sampled recording, and the sites that were furthest off.
 */
#ifndef ASSAY_REPORT_VERIFY_H
#define ASSAY_REPORT_VERIFY_H

#include "report/accuracy.h"

#define VERIFY_MAX 26 /* recordings: a letter each */

struct verify_options {
	char **path; /* n of them; the last is the exact one */
	size_t n;
	struct accuracy_options measure;
	unsigned worst; /* sites listed */
	bool methods;	/* all methods of estimating frequencies; else DCPI's and the default */
	bool histogram; /* of their errors */
	double repeat;	/* how often the sampled runs did the exact one's work */
	bool json, wide, explain;
	binary_warn warn;
};

int verify_print(const struct verify_options *o, struct err *err);

#endif
