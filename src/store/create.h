/* SPDX-License-Identifier: MIT */
/*
 * Making a recording's files: the previous recording kept, private, their owner's, locked.
 */
#ifndef ASSAY_STORE_CREATE_H
#define ASSAY_STORE_CREATE_H

#include "base/err.h"

/* The two files that a recorder writes to; they are created together. */
struct created {
	int fd;	     /* the recording, locked (store/db_file.h) */
	int journal; /* its rollback journal */
};

/* Empty files at path and path-journal, mode 0600, of the process's user; what was there is PATH.old now.
 * -1 with err set: another process is recording there, or what is there is no recording. */
int create_files(const char *path, struct created *c, struct err *err);
/* Takes the journal away if it is empty, and closes both. */
void create_close(const char *path, struct created *c);

#endif
