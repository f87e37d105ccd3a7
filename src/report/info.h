/* SPDX-License-Identifier: MIT */
/*
 * How a recording was made: target, time, rate, ends of windows, losses, cost; for an exact one,
 * what was observed.
 */
#ifndef ASSAY_REPORT_INFO_H
#define ASSAY_REPORT_INFO_H

#include "report/reading.h"

int info_print(struct reading *r, struct err *err);

#endif
