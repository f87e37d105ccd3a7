/* SPDX-License-Identifier: MIT */
/* The journal: windows in the order they came, in blobs, which a recorder appends while it runs. */
#ifndef ASSAY_STORE_JOURNAL_H
#define ASSAY_STORE_JOURNAL_H

#include "observe/profile.h"
#include "base/varint.h"

/* Appends one window. False without memory. */
bool journal_put(struct buffer *b, const struct window *w);
/* Feeds the windows of an untrusted blob to a profile, which may get at most sites_max sites;
 * map[0..nmap) gives the numbers of images. -1 with err set if the blob is malformed. */
int journal_replay(const uint8_t *p, size_t n, struct profile *to, uint64_t sites_max,
		   const uint32_t *map, size_t nmap, struct err *err);

#endif
