/* SPDX-License-Identifier: MIT */
/*
 * What was derived from a recording and may be asked for again, kept in it: a table of its own, which older
 * readers do not look at and which merging leaves out. A recording that cannot be written, or is in use, stays
 * as it is: then it is derived anew.
 */
#ifndef ASSAY_STORE_DERIVED_H
#define ASSAY_STORE_DERIVED_H

#include "store/varint.h"

#define DERIVED_MAX (256u << 20) /* bytes */

/* Of each kind there is one, derived as the key says. It is not trusted; in b->p, to be freed. False: there is
 * none, or it was derived otherwise. */
bool derived_read(const char *path, const char *kind, const char *key, struct buffer *b);
/* Keeps it, in place of what was; false if it cannot be. */
bool derived_write(const char *path, const char *kind, const char *key, const struct buffer *b);

#endif
