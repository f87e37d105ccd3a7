/* SPDX-License-Identifier: MIT */
/*
 * How a recording was made: what, when, how densely, why windows ended, what was lost, what it cost; of an
 * exact one, what was observed of how much.
 */
#ifndef ASSAY_REPORT_INFO_H
#define ASSAY_REPORT_INFO_H

#include "report/reading.h"

int info_print(struct reading *r, struct err *err);

#endif
