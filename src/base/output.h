/* SPDX-License-Identifier: MIT */
/*
 * A file that appears complete or not at all: it is written under a temporary name beside its place, and renamed when
 * complete. Output to the standard output is kept in memory until it is complete.
 */
#ifndef ASSAY_BASE_OUTPUT_H
#define ASSAY_BASE_OUTPUT_H

#include <stdio.h>

#include "base/err.h"

struct output {
	FILE *f;	  /* the stream to write to */
	const char *path; /* the file's final path; NULL: the standard output */
	/*
	 * the file's name until it is complete; NULL: it is written in place, as devices and pipes
	 * are
	 */
	char *temporary;
	char *text; /* private, with size: the text for the standard output */
	size_t size;
};

/* -1 with err set. The path stays the caller's and must outlive the output. */
int output_open(struct output *o, const char *path, struct err *err);
/* Puts the file in its place and closes it. -1 with err set: no new file appears. */
int output_commit(struct output *o, struct err *err);
/* Closes the output without leaving a file. */
void output_abandon(struct output *o);

#endif
