/* SPDX-License-Identifier: MIT */
/*
 * Errors: what is wrong, where, and what to do about it.
 *
 * A function that can fail takes a struct err as its last argument, returns a negative number (or
 * NULL) and leaves a message there. Only src/cmd prints messages and chooses exit statuses.
 */
#ifndef ASSAY_BASE_ERR_H
#define ASSAY_BASE_ERR_H

enum err_code {
	ERR_NONE = 0,
	ERR_FAILED = 1, /* exit 1: ours, or the system's */
	ERR_USAGE = 2,	/* exit 2: the command line */
	ERR_EMPTY = 3,	/* exit 3: nothing to show */
	ERR_NOEXEC = 126,
	ERR_NOTFOUND = 127,
};

struct err {
	int code;	/* enum err_code; the process's exit status */
	char msg[768];	/* one line: what, where, the current value */
	char hint[512]; /* one line: the remedy, or empty */
};

/* Each returns -1, so that `return err_set(...)` reads well. A later err_set replaces the earlier. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Appends ": strerror(errno)". */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the message "no memory for WHAT", WHAT by the format, and its remedy. Returns -1. */
int err_no_memory(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds the remedy to the error that is set. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
