/* SPDX-License-Identifier: MIT */
/*
 * Creates a recording's files: private, owned by the process's user, locked; the previous recording
 * is kept.
 */
#ifndef ASSAY_STORE_CREATE_H
#define ASSAY_STORE_CREATE_H

#include "base/err.h"

/* The two files that a recorder writes, which are created together. */
struct created {
	int fd;	     /* the recording, locked (store/db_file.h) */
	int journal; /* its rollback journal */
};

/* Creates empty files at path and path-journal with mode 0600, owned by the process's user; an
 * earlier recording becomes PATH.old. -1 with err set: another process is recording there, or
 * the existing file is no recording. */
int create_files(const char *path, struct created *c, struct err *err);
/* Removes the journal if it is empty, and closes both files. */
void create_close(const char *path, struct created *c);

#endif
