/* SPDX-License-Identifier: MIT */
/*
 * Who calls whom, how often, and with which arguments and results: by call site. Jumps to another procedure's
 * beginning are calls too, whose callee returns for them ("tail").
 */
#ifndef ASSAY_REPORT_CALLS_H
#define ASSAY_REPORT_CALLS_H

#include "report/reading.h"

struct calls_options {
	const char *procedure; /* its callers and callees; NULL: the calls of the whole program */
	const char *image;     /* of the procedure, or of the caller: shell pattern, or NULL */
	unsigned n;	       /* rows of each table; 0: all */
};

int calls_print(struct reading *r, const struct calls_options *o, struct err *err);

#endif
