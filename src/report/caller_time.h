/* SPDX-License-Identifier: MIT */
/* Divides an instruction's time, and a procedure's, among the procedure's callers: from call
 * stacks. */
#ifndef ASSAY_REPORT_CALLER_TIME_H
#define ASSAY_REPORT_CALLER_TIME_H

#include "query/view.h"

/* Samples of one instruction in calls that return to one place. */
struct called {
	struct site_id site, caller;
	uint32_t proc; /* procedure of the view */
	double time;
};

struct caller_time {
	struct called *of_site; /* by site and caller */
	struct called *of_proc; /* by procedure and caller */
	size_t n;
	double *proc; /* by procedure of the view: all its samples whose caller is known */
};

/* -1 without memory; caller_time_fini() is needed in any case. */
int caller_time_init(struct caller_time *t, const struct view *v);
void caller_time_fini(struct caller_time *t);
/* The part of the instruction's time that belongs to calls that return to `caller`; negative: no sample says so. */
double caller_time_of_site(const struct caller_time *t, struct site_id site, struct site_id caller);
/* The same part of all instructions of the procedure. */
double caller_time_of_proc(const struct caller_time *t, uint32_t proc, struct site_id caller);

#endif
