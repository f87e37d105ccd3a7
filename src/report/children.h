/* SPDX-License-Identifier: MIT */
/* Time with what was called, by the call stacks of a recording: of all procedures, and between one and its callers and callees. */
#ifndef ASSAY_REPORT_CHILDREN_H
#define ASSAY_REPORT_CHILDREN_H

#include "report/reading.h"

struct children_options {
	const char *callers,
		*callees; /* of this procedure: a name or a shell pattern; NULL: not asked for */
	double from,
		to;	/* only this stretch, in seconds since the recording began; to 0: its end */
	bool no_inline; /* time in inlined procedures is that of those that they were put into */
	unsigned n;	/* rows; 0: all */
};

/* -1 with err set: there are no stacks, or no procedure of that name in them. */
int children_print(struct reading *r, const struct children_options *o, struct err *err);

#endif
