/* SPDX-License-Identifier: MIT */
/* The signals that a recorder of a command takes as they come: Ctrl-C, the wish to end, the command's end. */
#ifndef ASSAY_CMD_SIGNALS_H
#define ASSAY_CMD_SIGNALS_H

#include <signal.h>

#include "base/err.h"

/* Blocks them; *old is the mask of before, which the command gets. A signalfd, not blocking, or -1. */
int signals_open(sigset_t *old, struct err *err);

#endif
