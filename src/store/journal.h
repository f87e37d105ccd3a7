/* SPDX-License-Identifier: MIT */
/*
 * The journal: windows as they came, in blobs. What a recorder appends while it runs.
 */
#ifndef ASSAY_STORE_JOURNAL_H
#define ASSAY_STORE_JOURNAL_H

#include "observe/profile.h"
#include "base/varint.h"

/* Appends one window. False without memory. */
bool journal_put(struct buffer *b, const struct window *w);
/* Feeds the windows of a blob (not trusted) to a profile, which is to have sites_max sites at most; images are numbered by
 * map[0..nmap). -1 with err set if it is malformed. */
int journal_replay(const uint8_t *p, size_t n, struct profile *to, uint64_t sites_max,
		   const uint32_t *map, size_t nmap, struct err *err);

#endif
