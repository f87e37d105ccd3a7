/* SPDX-License-Identifier: MIT */
/* Choice of the parts of a run to observe instead of all of it: samples, weights, and their
 * estimated errors. */
#ifndef ASSAY_REPORT_TARGETS_H
#define ASSAY_REPORT_TARGETS_H

#include "report/reading.h"

struct targets_options {
	unsigned process; /* pid; 0: the process that executed most */
	unsigned samples; /* number of samples; 0: the number of phases */
	unsigned spread;  /* samples in all, spread over the phases; 0: one of each */
	double least;	  /* phases below this per cent of the run join others */
	unsigned most;	  /* largest number of phases; 0: as many as clustering tries */
	bool early;	  /* take samples as early in the run as possible */
	bool systematic;  /* space samples evenly instead */
	bool settings;	  /* print only the settings */
	double size;	  /* length of a sample; 0: the interval's, up to 2 % of the run in total */
	double warmup;	  /* warm-up before each sample; negative: as long as a sample */
	const char *svg;  /* path of a picture of the phases, or NULL */
};

int targets_print(struct reading *r, const struct targets_options *o, struct err *err);

#endif
