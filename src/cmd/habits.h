/* SPDX-License-Identifier: MIT */
/* Verbs and options of perf that Assay lacks, and what to type in their place. */
#ifndef ASSAY_CMD_HABITS_H
#define ASSAY_CMD_HABITS_H

#include "base/opt.h"

/* Each table ends with a zeroed entry. */
extern const struct opt_habit habits_verbs[];
extern const struct opt_habit habits_record[];
extern const struct opt_habit habits_report[];
extern const struct opt_habit habits_annotate[];

#endif
