/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_IMAGE_TEXT_FILE_H
#define ASSAY_IMAGE_TEXT_FILE_H

/* All of a file whose size is not known before, as under /proc; 0 follows it. To be freed. NULL with errno set. */
char *text_file_read(const char *path);

#endif
