/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_IMAGE_TEXT_FILE_H
#define ASSAY_IMAGE_TEXT_FILE_H

#include <stddef.h>

/* All of a file whose size is not known before, as under /proc; 0 follows it. *n may be NULL. To be
 * freed. NULL with errno set. */
char *text_file_read(const char *path, size_t *n);

#endif
