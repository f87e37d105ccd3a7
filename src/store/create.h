/* SPDX-License-Identifier: MIT */
/*
 * Making the file: the previous recording kept, private, its owner's.
 */
#ifndef ASSAY_STORE_CREATE_H
#define ASSAY_STORE_CREATE_H

#include "base/err.h"

/* An empty file at path, mode 0600, owned by who called sudo; what was there is PATH.old now. */
int create_file(const char *path, struct err *err);

#endif
