/* SPDX-License-Identifier: MIT */
/* The times and the values of calls by one procedure. */
#ifndef ASSAY_REPORT_BY_CALLER_H
#define ASSAY_REPORT_BY_CALLER_H

#include "base/err.h"
#include "observe/profile.h"

/*
 * Reduces the profile's sites to the samples of calls by procedures that match `name`, a name or a shell pattern, and
 * to the values that were observed in such calls (observe/callers.h). A sample belongs to such a call if the call stack
 * has the procedure right outside the innermost one. -1 with err set: there are no stacks, no such call, no memory.
 */
int by_caller(struct profile *p, const char *name, struct err *err);

#endif
