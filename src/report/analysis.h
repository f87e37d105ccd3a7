/* SPDX-License-Identifier: MIT */
/*
 * What estimates are made of: a sampled recording, its files, least times of blocks that it keeps, and the method that
 * was asked for.
 */
#ifndef ASSAY_REPORT_ANALYSIS_H
#define ASSAY_REPORT_ANALYSIS_H

#include "report/counts.h"

struct analysis {
	struct reading *r;
	enum estimate_method method;
	struct binaries quiet, *files; /* files: quiet, or the reading's, which warn */
	struct estimate_source source;
};

/* Of the first run, as /proc/cpuinfo has it; or NULL. */
const char *analysis_cpu(const struct reading *r);
/* warn: tell which files cannot be used. -1 with err set: no memory. */
int analysis_open(struct analysis *a, struct reading *r, bool warn, struct err *err);
/* Keeps schedules that were made in the recording, if it may be written. */
void analysis_close(struct analysis *a);
/* The estimate at the scale that readings show. -1 with err set: no memory. */
int analysis_estimate(const struct analysis *a, struct estimate *e, struct err *err);

#endif
