/* SPDX-License-Identifier: MIT */
/* Phases of a process: their shares of the run, when they occur, and the procedures in them. */
#ifndef ASSAY_REPORT_PHASES_H
#define ASSAY_REPORT_PHASES_H

#include "report/reading.h"

struct phases_options {
	unsigned process; /* pid; 0: the process that executed most */
	unsigned n;	  /* procedures of each phase; 0: all */
	const char *svg;  /* path of a picture, or NULL */
};

int phases_print(struct reading *r, const struct phases_options *o, struct err *err);

#endif
