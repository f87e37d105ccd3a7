/* SPDX-License-Identifier: MIT */
/* Writes a page for a browser as a file: complete or not at all, and readable for its owner alone. */
#ifndef ASSAY_CMD_PAGE_H
#define ASSAY_CMD_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Writes the page to `path` ("-": the standard output), and tells its size. -1 with err set. */
int page_write(const char *path, int (*write)(FILE *out, void *ctx, struct err *err), void *ctx,
	       struct err *err);

#endif
