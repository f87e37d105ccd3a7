/* SPDX-License-Identifier: MIT */
/*
 * The control-flow graph of one procedure, block by block, with the recorded executions or
 * estimates: as text, JSON or in Graphviz's language.
 */
#ifndef ASSAY_REPORT_BLOCKS_H
#define ASSAY_REPORT_BLOCKS_H

#include "report/reading.h"

struct blocks_options {
	const char *procedure; /* name for lookup_proc; NULL: the hottest procedure */
	const char *image;     /* shell pattern, or NULL */
	bool dot;
};

/* -1 with err set: no such procedure, or its file is not the one that was recorded. */
int blocks_print(struct reading *r, const struct blocks_options *o, struct err *err);

#endif
