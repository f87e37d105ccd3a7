/* SPDX-License-Identifier: MIT */
/*
 * One procedure, instruction by instruction: its share of the procedure's time (how often it ran, in an
 * exact recording), its hot values, which way its branches went.
 */
#ifndef ASSAY_REPORT_ANNOTATE_H
#define ASSAY_REPORT_ANNOTATE_H

#include "report/reading.h"

struct annotate_options {
	const char *procedure; /* name for lookup_proc; NULL: the hottest procedure */
	const char *image;     /* shell pattern, or NULL */
	bool full;	       /* show all instructions, not only those around the hot ones */
	bool all;	       /* show all operands' values, not only the semi-invariant ones */
};

int annotate_print(struct reading *r, const struct annotate_options *o, struct err *err);

struct why;

/* Returns what annotate --json has of the procedure; why: the recording's analysis, or NULL. To be
 * freed. NULL with err set. */
json_t *annotate_tree(struct reading *r, const struct view_proc *p, const struct why *why,
		      struct err *err);

#endif
