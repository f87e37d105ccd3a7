/* SPDX-License-Identifier: MIT */
/* Who spent the time, by the call stacks of a recording: processes, threads, names of threads, control groups; and when. */
#ifndef ASSAY_REPORT_THREADS_H
#define ASSAY_REPORT_THREADS_H

#include "report/reading.h"

#define THREADS_BY "process thread comm cgroup"

struct threads_options {
	const char *by; /* how to group: one of THREADS_BY */
	double from,
		to; /* the stretch to show, in seconds since the recording began; `to` 0: its end */
	unsigned n; /* rows; 0: all */
};

/* Whether `by` is one of THREADS_BY. */
bool threads_is(const char *by);
/* -1 with err set: there are no stacks. */
int threads_print(struct reading *r, const struct threads_options *o, struct err *err);
/* Prints the load of the threads that took most time, over the time of the recording: a line each. Prints nothing
 * without stacks. -1 without memory. */
int threads_load(struct reading *r);

#endif
