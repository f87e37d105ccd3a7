/* SPDX-License-Identifier: MIT */
/* The observed part of exact runs under a schedule, and what it stands for: for every heading,
 * and `assay info`. */
#ifndef ASSAY_REPORT_SAMPLED_H
#define ASSAY_REPORT_SAMPLED_H

#include "report/reading.h"

/* Adds the observed samples to the heading; nothing if everything was observed. */
void sampled_heading(struct reading *r);
/* The observed share of the instructions, of all runs under a schedule; null if it is not known. */
json_t *sampled_share_json(const struct reading *r);
/* Sets "schedules" in JSON; prints the schedule, the samples and the totals of registered
 * counters with their error bars. */
void sampled_print(struct reading *r);

#endif
