/* SPDX-License-Identifier: MIT */
/* Whether a run under a schedule counted what the same command did the last time. */
#ifndef ASSAY_CMD_EXACT_AGAIN_H
#define ASSAY_CMD_EXACT_AGAIN_H

#include "observe/profile.h"

/* Holds the run against the recording that it has replaced (PATH.old), if that is of the same command, observed in the
 * same way, and says what it finds: a difference in a warning, that there is none unless `quiet`. */
void exact_again(const struct profile *p, const char *path, bool quiet);

#endif
