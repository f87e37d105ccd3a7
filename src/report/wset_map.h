/* SPDX-License-Identifier: MIT */
/* Address regions over time: lines that each interval touched in each of some bands of addresses. */
#ifndef ASSAY_REPORT_WSET_MAP_H
#define ASSAY_REPORT_WSET_MAP_H

#include "base/err.h"
#include "observe/wset.h"

struct wset_band {
	uint64_t start,
		end; /* addresses / (line * 4096): what lies between was touched, or lies near */
	uint32_t region; /* that most of its lines belong to */
};

struct wset_map {
	struct wset_band *band; /* by address */
	size_t nband, ninterval;
	uint64_t *lines; /* of band b in interval i: [b * ninterval + i] */
	uint64_t most;
};

/* `rows` bands at most, cut where the widest gaps are; the widest bands are halved while there are fewer. */
int wset_map_make(struct wset_map *m, const struct wset *w, bool code, unsigned rows,
		  struct err *err);
void wset_map_fini(struct wset_map *m);

#endif
