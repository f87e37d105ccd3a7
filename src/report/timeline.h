/* SPDX-License-Identifier: MIT */
/* Phases over time: the choice of the process; a picture with a row for each phase, as text, SVG
 * and JSON. */
#ifndef ASSAY_REPORT_TIMELINE_H
#define ASSAY_REPORT_TIMELINE_H

#include "phase/clusters.h"
#include "report/reading.h"

/* The process of that pid, or with 0 the one that executed most. NULL with err set. */
const struct phases *timeline_process(const struct reading *r, unsigned pid, struct err *err);
/* Prints a line about the process, or sets it in JSON. */
void timeline_heading(struct reading *r, const struct phases *p);
/* Draws phases as rows, instructions from left to right; darker cells have more of the time.
 * JSON gets each interval's phase. */
void timeline_draw(struct reading *r, const struct phases *p, const struct clusters *c);
int timeline_svg(const struct reading *r, const char *path, const struct phases *p,
		 const struct clusters *c, struct err *err);

#endif
