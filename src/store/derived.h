/* SPDX-License-Identifier: MIT */
/*
 * Results derived from a recording, kept in a cache of the user: $XDG_CACHE_HOME/assay, or
 * ~/.cache/assay. A file is named by the recording's content, so that copies share it and a change
 * invalidates it. The least recently used files are removed when the folder is full. Without a
 * folder that belongs to the user alone, results are always derived anew.
 */
#ifndef ASSAY_STORE_DERIVED_H
#define ASSAY_STORE_DERIVED_H

#include "base/varint.h"

/* limit in bytes, of one result before compression, and of all files */
#define DERIVED_MAX (256u << 20)

/* Reads the result of a kind, derived as the key says, for a recording of that content
 * (recording_read_known). The file is untrusted. The result is in b->p, to be freed. False:
 * there is none, it is damaged, or it was derived otherwise. */
bool derived_read(const char *content, const char *kind, const char *key, struct buffer *b);
/* Stores the result, replacing an older one; false if that failed. */
bool derived_write(const char *content, const char *kind, const char *key, const struct buffer *b);

#endif
