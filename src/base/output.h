/* SPDX-License-Identifier: MIT */
/*
 * A file that appears complete or not at all: it is written under a temporary name beside its place and renamed when
 * it is complete. What goes to the standard output is kept in memory until it is complete.
 */
#ifndef ASSAY_BASE_OUTPUT_H
#define ASSAY_BASE_OUTPUT_H

#include <stdio.h>

#include "base/err.h"

struct output {
	FILE *f;	  /* to be written to */
	const char *path; /* where it goes; NULL: the standard output */
	char *temporary; /* its name until then; NULL: it is written in place, as devices and pipes are */
	char *text; /* private, with size: what goes to the standard output */
	size_t size;
};

/* -1 with err set. The path stays the caller's and must outlive the output. */
int output_open(struct output *o, const char *path, struct err *err);
/* Puts the file in its place and closes it. -1 with err set: there is no new file then. */
int output_commit(struct output *o, struct err *err);
/* Closes it without leaving a file. */
void output_abandon(struct output *o);

#endif
