/* SPDX-License-Identifier: MIT */
/* The image to be optimised: its number in the recording, and the file on disk that holds it. */
#ifndef ASSAY_EXPORT_TARGET_H
#define ASSAY_EXPORT_TARGET_H

#include "export/export.h"
#include "image/image.h"

struct target {
	const struct profile_image *image;
	struct image *im;
	char *file;	  /* path of the file */
	double share;	  /* share of the image in the recording's user-space executions, 0 to 1 */
	bool relocations; /* the file was linked with --emit-relocs */
	bool symbols;	  /* the file has a symbol table */
	bool lines;	  /* the file has line numbers */
	bool probes;	  /* clang wrote where each block is: -fpseudo-probe-for-profiling */
};

/*
 * Finds the image that x->o names, or else the one that executed most, and opens its file, which
 * must have the recorded build-id. -1 with err set: there is none, the file is missing or another
 * one, or BOLT rewrote it already.
 */
int target_open(struct target *t, const struct export *x, struct err *err);
void target_close(struct target *t);
/* Whether the recorded image is this build: a recording has it once for each path that the build was executed from. */
bool target_is(const struct target *t, const struct profile_image *im);
/* The last part of its path. */
const char *target_name(const struct target *t);

#endif
