/* SPDX-License-Identifier: MIT */
#ifndef ASSAY_IMAGE_TEXT_FILE_H
#define ASSAY_IMAGE_TEXT_FILE_H

/* Reads all of a file whose size is not known before, as under /proc, and terminates the text
 * with 0. To be freed. The descriptor is closed. NULL with errno set; a descriptor of -1 leaves
 * errno as it was. */
char *text_file_take(int fd);

#endif
