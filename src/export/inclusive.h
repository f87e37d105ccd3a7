/* SPDX-License-Identifier: MIT */
/*
 * The inclusive cost of calls, where only each procedure's own cost and the numbers of calls are known: a procedure's
 * cost is divided among its callers in proportion to their calls, as gprof does (Graham, Kessler, McKusick, "gprof: a
 * Call Graph Execution Profiler", 1982). Procedures that call one another in a circle count as one; calls among them
 * cost nothing.
 */
#ifndef ASSAY_EXPORT_INCLUSIVE_H
#define ASSAY_EXPORT_INCLUSIVE_H

#include <stddef.h>
#include <stdint.h>

struct inclusive_call {
	uint32_t from, to; /* procedures, below n */
	double count;
	size_t number; /* the caller's, to find a call again */
	double cost;   /* result: the cost of all of the calls together */
};

/* own: by procedure. Sorts the calls by `from`. -1 without memory. */
int inclusive_costs(size_t n, const double *own, struct inclusive_call *call, size_t ncall);

#endif
