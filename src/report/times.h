/* SPDX-License-Identifier: MIT */
/*
 * Distribution of time, or in an exact recording of instructions: images, procedures, source lines.
 */
#ifndef ASSAY_REPORT_TIMES_H
#define ASSAY_REPORT_TIMES_H

#include "report/reading.h"

struct times_options {
	const char *by;	   /* "image", "procedure", "line"; NULL: images, then procedures */
	const char *image; /* shell pattern, or NULL */
	unsigned n;	   /* rows of each table; 0: all */
};

/* Returns -1 with err set: no memory, or nothing matches. */
int times_print(struct reading *r, const struct times_options *o, struct err *err);

#endif
