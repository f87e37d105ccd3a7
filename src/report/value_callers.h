/* SPDX-License-Identifier: MIT */
/*
 * Values by caller: operands that mostly have one value in calls from one place, and do not over all callers.
 *
 * A row is worth the time of the instruction, or for an argument of the procedure, in calls by that caller (report/caller_time),
 * times the lower limit of the value's share among the observations in those calls.
 */
#ifndef ASSAY_REPORT_VALUE_CALLERS_H
#define ASSAY_REPORT_VALUE_CALLERS_H

#include "report/values.h"

/* -1 with err set: the recording has no values by caller, no memory, no such procedure. */
int value_callers_print(struct reading *r, const struct values_options *o, struct err *err);

#endif
