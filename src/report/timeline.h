/* SPDX-License-Identifier: MIT */
/* Phases over time: which process, a picture with a row for each phase, the same as SVG and JSON. */
#ifndef ASSAY_REPORT_TIMELINE_H
#define ASSAY_REPORT_TIMELINE_H

#include "phase/clusters.h"
#include "report/reading.h"

/* Of the recording's processes: that pid's, or with 0 the one that executed most. NULL with err set. */
const struct phases *timeline_process(const struct reading *r, unsigned pid, struct err *err);
/* A line about the process, and in JSON what it is. */
void timeline_heading(struct reading *r, const struct phases *p);
/* Phases from above, instructions from left to right; the darker, the more of the time. In JSON each interval's phase. */
void timeline_draw(struct reading *r, const struct phases *p, const struct clusters *c);
int timeline_svg(const struct reading *r, const char *path, const struct phases *p,
		 const struct clusters *c, struct err *err);

#endif
