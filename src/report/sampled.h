/* SPDX-License-Identifier: MIT */
/* What of exact runs was observed, and what it stands for: a part of every heading, and of `assay info`. */
#ifndef ASSAY_REPORT_SAMPLED_H
#define ASSAY_REPORT_SAMPLED_H

#include "report/reading.h"

/* For the heading, what samples were observed; nothing if everything was. */
void sampled_heading(struct reading *r);
/* The share of the instructions that was observed, of all runs under a schedule; null if it is not known. */
json_t *sampled_share_json(const struct reading *r);
/* "schedules" in JSON; in text the schedule, the samples and the totals of registered counters with their error bars. */
void sampled_print(struct reading *r);

#endif
