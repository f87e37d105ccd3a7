/* SPDX-License-Identifier: MIT */
/*
 * Calls by call site: caller, callee, number, arguments and results. Jumps to the beginning of
 * another procedure are calls too, whose callee returns for them ("tail").
 */
#ifndef ASSAY_REPORT_CALLS_H
#define ASSAY_REPORT_CALLS_H

#include "report/reading.h"

struct calls_options {
	/* the procedure whose callers and callees are shown; NULL: calls of the whole program */
	const char *procedure;
	/* image of the procedure, or of the caller: shell pattern, or NULL */
	const char *image;
	unsigned n; /* rows of each table; 0: all */
};

int calls_print(struct reading *r, const struct calls_options *o, struct err *err);

#endif
