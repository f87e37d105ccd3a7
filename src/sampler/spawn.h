/* SPDX-License-Identifier: MIT */
/*
 * Starting the program under observation: held before exec until the events are attached.
 */
#ifndef ASSAY_SAMPLER_SPAWN_H
#define ASSAY_SAMPLER_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

struct spawn {
	pid_t pid;
	int go;	    /* written to let it exec */
	int result; /* the parent reads exec's errno from here, or end of file if exec has succeeded */
};

/* Looks argv[0] up as execvp() would: ERR_NOTFOUND or ERR_NOEXEC with err set if it cannot be run. */
int spawn_check(char *const argv[], struct err *err);
/* Forks; the child waits, and gets the signal mask `mask`. */
int spawn_hold(struct spawn *s, char *const argv[], const sigset_t *mask, struct err *err);
/* Lets the child execute the program. -1 with err set (ERR_NOTFOUND, ERR_NOEXEC) if that failed. */
int spawn_go(struct spawn *s, char *const argv[], struct err *err);
/* Ends a child that is still held. */
void spawn_cancel(struct spawn *s);

#endif
