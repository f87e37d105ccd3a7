/* SPDX-License-Identifier: MIT */
/*
 * The reuse times of a sampled recording (observe/reuses.h) by parts of the program, and the speed
 * of each part. Windows begin in proportion to time. How many touches the code in them executed in
 * that time follows from the estimated executions (estimate/parts.h): among blocks that windows tie
 * together the weights of windows tell it; between phases that hardly call one another only the
 * estimate does. So the regions of a process are grouped by the parts of the estimate. A region
 * without an estimate (its file is missing, or its code is generated) is a part of its own, with
 * one instruction a cycle and a large error.
 */
#ifndef ASSAY_REPORT_REUSE_PARTS_H
#define ASSAY_REPORT_REUSE_PARTS_H

#include "observe/reuses.h"
#include "report/reading.h"

struct reuse_part {
	struct reuses sum;   /* observations of windows that began there */
	uint64_t process;    /* key of a struct reuses */
	uint32_t number;     /* number of the estimate's part; or a number of its own */
	double time;	     /* ns */
	double instructions; /* instructions executed in that time, by the estimate */
	double touches;	     /* touches in that time, by the estimate; never 0 */
	double error;	     /* standard deviation of the logarithm of these */
};

struct reuse_parts {
	struct reuse_part **part;
	size_t n;
	uint64_t windows, watched;
	double known; /* share of the time that has an estimate */
};

/* Makes the parts of all processes, or one. -1 with err set: no memory. */
int reuse_parts_make(struct reuse_parts *parts, struct reading *r, unsigned process,
		     struct err *err);
void reuse_parts_free(struct reuse_parts *parts);

#endif
