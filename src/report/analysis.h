/* SPDX-License-Identifier: MIT */
/*
 * The inputs of estimates: a sampled recording, its files, cached schedules of blocks, and the
 * requested method.
 */
#ifndef ASSAY_REPORT_ANALYSIS_H
#define ASSAY_REPORT_ANALYSIS_H

#include "report/counts.h"

struct analysis {
	struct reading *r;
	enum estimate_method method;
	/* files: either `quiet`, or the reading's files, which warn */
	struct binaries quiet, *files;
	struct estimate_source source;
};

/* CPU name of the first run, as in /proc/cpuinfo; or NULL. */
const char *analysis_cpu(const struct reading *r);
/* warn: report files that cannot be used. -1 with err set: no memory. */
int analysis_open(struct analysis *a, struct reading *r, bool warn, struct err *err);
/* Stores new schedules in the cache, if it is writable. */
void analysis_close(struct analysis *a);
/* Makes the estimate at the scale that readings show. -1 with err set: no memory. */
int analysis_estimate(const struct analysis *a, struct estimate *e, struct err *err);

#endif
