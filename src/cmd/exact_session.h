/* SPDX-License-Identifier: MIT */
/* An exact recording: the engine in the program's processes, the profile, the file. */
#ifndef ASSAY_CMD_EXACT_SESSION_H
#define ASSAY_CMD_EXACT_SESSION_H

#include "cmd/session.h"

/* Runs o->argv under the exact engine and records it. Returns the exit status, as session_run does. */
int exact_session_run(const struct session_options *o, struct err *err);
/* Whether the engine works here: runs `true` under it, unrecorded. *instructions: how many it executed. */
int exact_session_probe(uint64_t *instructions, struct err *err);

#endif
