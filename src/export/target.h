/* SPDX-License-Identifier: MIT */
/*
 * The image that an optimiser works on: which one of the recording it is, and the file on disk that holds it.
 */
#ifndef ASSAY_EXPORT_TARGET_H
#define ASSAY_EXPORT_TARGET_H

#include "export/export.h"
#include "image/image.h"

struct target {
	const struct profile_image *image;
	struct image *im;
	char *file;	  /* its path */
	double share;	  /* of what was executed in user space in the recording, 0 to 1 */
	bool relocations; /* linked with --emit-relocs */
	bool symbols;	  /* has a symbol table */
};

/*
 * Finds the image that x->o names, without a name the one that executed most, and opens its file, which has to have the
 * recorded build-id. -1 with err set: there is none, the file is gone or another one, BOLT rewrote it already.
 */
int target_open(struct target *t, const struct export *x, struct err *err);
void target_close(struct target *t);
/* Whether the recorded image is this one: it is in a recording once for each path that the build was executed from. */
bool target_is(const struct target *t, const struct profile_image *im);
/* The last part of its path. */
const char *target_name(const struct target *t);

#endif
