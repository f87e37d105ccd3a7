/* SPDX-License-Identifier: MIT */
/*
 * The verbs. One file each; this is the list of them.
 */
#ifndef ASSAY_CMD_VERBS_H
#define ASSAY_CMD_VERBS_H

#include "base/opt.h"

extern const struct verb cmd_record, cmd_report, cmd_annotate, cmd_values, cmd_calls, cmd_conflicts,
	cmd_wset, cmd_targets, cmd_reuse, cmd_coproc, cmd_info, cmd_merge, cmd_export, cmd_verify,
	cmd_diff, cmd_html, cmd_doctor, cmd_completion, cmd_help;

/* All verbs, in the order of the manual; NULL-terminated. */
extern const struct verb *const verbs[];
/* Finds a verb by name. NULL with err set, and the nearest name in its hint, if there is none. */
const struct verb *verb_find(const char *name, struct err *err);

/* Prints what Assay is, its verbs, and the first steps. */
void help_overview(FILE *to);

#endif
