/* SPDX-License-Identifier: MIT */
/* Address regions over time: the lines that each interval touched in each of several bands of
 * addresses. */
#ifndef ASSAY_REPORT_WSET_MAP_H
#define ASSAY_REPORT_WSET_MAP_H

#include "base/err.h"
#include "observe/wset.h"

struct wset_band {
	uint64_t start, end; /* addresses / (line * 4096) of a band's first and last chunk */
	uint32_t region;     /* region that most of its lines belong to */
};

struct wset_map {
	struct wset_band *band; /* sorted by address */
	size_t nband, ninterval;
	uint64_t *lines; /* lines of band b in interval i: [b * ninterval + i] */
	uint64_t most;
};

/* Makes at most `rows` bands, separated by the widest gaps; the widest bands are halved while
 * there are fewer. */
int wset_map_make(struct wset_map *m, const struct wset *w, bool code, unsigned rows,
		  struct err *err);
void wset_map_fini(struct wset_map *m);

#endif
