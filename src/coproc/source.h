/* SPDX-License-Identifier: MIT */
/* Texts for the co-processor: machine descriptions and microcode, which come from files that anybody may have written. */
#ifndef ASSAY_COPROC_SOURCE_H
#define ASSAY_COPROC_SOURCE_H

#include <stddef.h>

#include "base/err.h"

/* Reads a file as a string, to be freed. NULL with err set: it cannot be read, is longer than
 * `most` bytes, or contains a zero byte. */
char *source_read(const char *path, size_t most, struct err *err);

/*
 * The path of a microcode program: `name` itself if it has a slash or ends in ".uc"; else NAME.uc in
 * $ASSAY_COPROC_PATH, in share/assay/coproc beside the folder of the running program, or in src/coproc/programs of the
 * tree that it was built in. To be freed; NULL with err set.
 */
char *source_find(const char *name, struct err *err);

#endif
