/* SPDX-License-Identifier: MIT */
/*
 * Where windows saw indirect jumps and calls go.
 *
 * A recording's edges say it as places, and how often; hot lists say it as run-time addresses, and weighed
 * (profile_window). An image is mapped at whole pages: the lower bits of an address tell which is which.
 */
#ifndef ASSAY_ESTIMATE_TARGETS_H
#define ASSAY_ESTIMATE_TARGETS_H

#include "base/err.h"
#include "observe/profile.h"

struct target {
	struct site_id to;
	double share; /* of the site's executions that windows saw leave */
};

struct targets {
	const struct edge **edge; /* of the recording, sorted */
	size_t nedges;
	struct target *v; /* of the site last asked for */
	size_t n, cap;
};

int targets_init(struct targets *t, const struct profile *p, struct err *err);
void targets_fini(struct targets *t);
/* Those of the instruction s: t->v[0 … n). -1 with err set: no memory. */
int targets_of(struct targets *t, const struct site *s, struct err *err);
/* The share that goes to [start, end) of the image. */
double targets_share(const struct targets *t, uint32_t image, uint64_t start, uint64_t end);

#endif
