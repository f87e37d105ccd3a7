/* SPDX-License-Identifier: MIT */
/*
 * One procedure's control-flow graph, block by block, with what the recording has of each: as text, JSON
 * or Graphviz's language.
 */
#ifndef ASSAY_REPORT_BLOCKS_H
#define ASSAY_REPORT_BLOCKS_H

#include "report/reading.h"

struct blocks_options {
	const char *procedure; /* as lookup_proc takes it; NULL: the hottest */
	const char *image;     /* shell pattern, or NULL */
	bool dot;
};

/* -1 with err set: no such procedure, or its file is not the one that was recorded. */
int blocks_print(struct reading *r, const struct blocks_options *o, struct err *err);

#endif
