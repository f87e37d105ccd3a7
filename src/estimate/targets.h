/* SPDX-License-Identifier: MIT */
/*
 * Targets of indirect jumps and calls, as windows saw them.
 *
 * A recording's edges give them as places, with counts; hot lists give them as run-time addresses,
 * with weights (profile_window). An image is mapped at whole pages, so the lower bits of an address
 * tell which place it is.
 */
#ifndef ASSAY_ESTIMATE_TARGETS_H
#define ASSAY_ESTIMATE_TARGETS_H

#include "base/err.h"
#include "observe/profile.h"

struct target {
	struct site_id to;
	double share; /* share of the site's executions that windows saw leave */
};

struct targets {
	const struct edge **edge; /* edges of the recording, sorted */
	size_t nedges;
	struct target *v; /* targets of the last site asked for */
	size_t n, cap;
};

int targets_init(struct targets *t, const struct profile *p, struct err *err);
void targets_fini(struct targets *t);
/* Finds the targets of the instruction s: t->v[0 .. n). -1 with err set: no memory. */
int targets_of(struct targets *t, const struct site *s, struct err *err);
/* The share that goes to addresses [start, end) of the image. */
double targets_share(const struct targets *t, uint32_t image, uint64_t start, uint64_t end);

#endif
