/* SPDX-License-Identifier: MIT */
/*
 * What was derived from a recording and may be asked for again, in a cache of the user's own: $XDG_CACHE_HOME/assay, or
 * ~/.cache/assay. A file is named after the recording's content, so that copies share it and a change leaves it. What was
 * not asked for the longest goes when the folder is full. Without a folder that is the user's alone all is derived anew.
 */
#ifndef ASSAY_STORE_DERIVED_H
#define ASSAY_STORE_DERIVED_H

#include "base/varint.h"

#define DERIVED_MAX (256u << 20) /* bytes: of one, before it is compressed, and of all files */

/* Of each kind there is one, derived as the key says, for a recording of that content (recording_read_known). Nothing in the
 * file is trusted; in b->p, to be freed. False: there is none, it is damaged, or it was derived otherwise. */
bool derived_read(const char *content, const char *kind, const char *key, struct buffer *b);
/* Keeps it, in place of what was; false if it cannot be. */
bool derived_write(const char *content, const char *kind, const char *key, const struct buffer *b);

#endif
