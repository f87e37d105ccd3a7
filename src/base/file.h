/* SPDX-License-Identifier: MIT */
/*
 * Opening files whose names come from outside: from recordings, ELF files and debug information. Such a name may
 * belong to a pipe, which makes open() wait, or to a device, which open() alone may affect.
 */
#ifndef ASSAY_BASE_FILE_H
#define ASSAY_BASE_FILE_H

#include <sys/stat.h>

#include "base/err.h"

/* Opens a regular file for reading, without ever waiting, and sets *st as fstat(2) does. -1 with err set. */
int file_open(const char *path, struct stat *st, struct err *err);

#endif
