/* SPDX-License-Identifier: MIT */
/*
 * The samples of an exact recording under a schedule. Where weights may differ, a sample's observations are kept apart
 * until the sample is complete; then they are multiplied by its weight and added to the recording. Where all samples
 * have one weight, the whole is multiplied at the end.
 */
#ifndef ASSAY_CMD_EXACT_SAMPLES_H
#define ASSAY_CMD_EXACT_SAMPLES_H

#include "exact/exact.h"
#include "engine/shared.h"
#include "observe/sampled.h"
#include "stream/schedule.h"

struct exact_samples {
	const struct schedule *schedule;
	struct profile *to; /* the recording's */
	struct profile
		part; /* profile of observations that are not added yet, where samples are added one by one */
	bool apart;
	struct sampled *sampled;
	uint64_t before[SAMPLED_N]; /* the counters when the last batch ended */
	struct exact_sampling sampling;
};

/* Begins sampling for `to`, which has its run already. The recorder observes into *observed from
 * then on. Without a schedule there are no samples, and nothing is begun. */
int exact_samples_begin(struct exact_samples *s, const struct schedule *schedule, const char *text,
			struct profile *to, struct profile **observed, struct err *err);
/* Tells the recorder the schedule. */
int exact_samples_start(struct exact_samples *s, struct exact *e, struct err *err);
/* Ends sampling: the run has ended, with that wait status, and all of it has been read. -1 with err set: it is not the
 * run that the targets were chosen for, and that is not allowed. */
int exact_samples_end(struct exact_samples *s, const struct exact *e, int status, bool allow,
		      struct err *err);
void exact_samples_fini(struct exact_samples *s);

#endif
