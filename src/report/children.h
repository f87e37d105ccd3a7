/* SPDX-License-Identifier: MIT */
/* Time with what was called, by the call stacks of a recording: of all procedures, and between one and its callers and callees. */
#ifndef ASSAY_REPORT_CHILDREN_H
#define ASSAY_REPORT_CHILDREN_H

#include "report/reading.h"

struct children_options {
	const char *callers,
		/* of the procedure with this name, or of those that match the pattern; NULL: not
		 * asked for */
		*callees;
	double from,
		/* the stretch to show, in seconds since the recording began; `to` 0: its end */
		to;
	/* time in inlined procedures counts for the procedures that they were put into */
	bool no_inline;
	unsigned n; /* rows; 0: all */
};

/* -1 with err set: there are no stacks, or no procedure of that name in them. */
int children_print(struct reading *r, const struct children_options *o, struct err *err);

#endif
