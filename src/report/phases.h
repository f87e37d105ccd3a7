/* SPDX-License-Identifier: MIT */
/* Phases of a process: how much of the run each is, when, and what runs in it. */
#ifndef ASSAY_REPORT_PHASES_H
#define ASSAY_REPORT_PHASES_H

#include "report/reading.h"

struct phases_options {
	unsigned process; /* its pid; 0: the one that executed most */
	unsigned n;	  /* procedures of each phase; 0: all */
	const char *svg;  /* also draw it there */
};

int phases_print(struct reading *r, const struct phases_options *o, struct err *err);

#endif
