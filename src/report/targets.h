/* SPDX-License-Identifier: MIT */
/* Which parts of a run to observe in place of all of it: samples, weights, how far off they are. */
#ifndef ASSAY_REPORT_TARGETS_H
#define ASSAY_REPORT_TARGETS_H

#include "report/reading.h"

struct targets_options {
	unsigned process; /* its pid; 0: the one that executed most */
	unsigned samples; /* so many; 0: as many as there are phases */
	double least;	  /* phases that are smaller join others, per cent of the run */
	unsigned most;	  /* … at most; 0: as many as clustering tries */
	bool early;	  /* samples as early in the run as may be */
	bool systematic;  /* evenly spaced instead */
	bool settings;	  /* only the lines of settings */
	double size;	  /* of a sample; 0: the interval's, within 2 % of the run in all */
	double warmup;	  /* before each; less than 0: as long as a sample */
	const char *svg;  /* also draw phases there */
};

int targets_print(struct reading *r, const struct targets_options *o, struct err *err);

#endif
