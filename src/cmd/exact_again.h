/* SPDX-License-Identifier: MIT */
/* Whether a run under a schedule counted what the same command did the last time. */
#ifndef ASSAY_CMD_EXACT_AGAIN_H
#define ASSAY_CMD_EXACT_AGAIN_H

#include "observe/profile.h"

/*
 * Compares the run with the recording that it has replaced (PATH.old), if that is of the same
 * command, observed in the same way. Warns of a difference; unless `quiet`, also says that there is
 * none.
 */
void exact_again(const struct profile *p, const char *path, bool quiet);

#endif
