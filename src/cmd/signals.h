/* SPDX-License-Identifier: MIT */
/* The signals that a recorder of a command handles as they arrive: Ctrl-C, termination, the command's end. */
#ifndef ASSAY_CMD_SIGNALS_H
#define ASSAY_CMD_SIGNALS_H

#include <signal.h>

#include "base/err.h"

/* Blocks them; *old: the previous mask, which the command gets. Returns a nonblocking signalfd, or -1. */
int signals_open(sigset_t *old, struct err *err);

#endif
