/* SPDX-License-Identifier: MIT */
/*
 * A line on the standard error, if it is a terminal, that says what is under way. It appears after half a second, says how
 * long it has been from two seconds on, makes room for messages, and goes when the work is done.
 */
#ifndef ASSAY_BASE_PROGRESS_H
#define ASSAY_BASE_PROGRESS_H

#include <stddef.h>

/* of: 0 or 1 where it is not known how much there is. */
void progress_show(const char *what, size_t done, size_t of);
/* "reading assay.db" */
void progress_file(const char *what, const char *path);
/* Also before anything is written to a terminal that is not kept (base/pager). Nothing, if nothing is shown. */
void progress_end(void);

#endif
