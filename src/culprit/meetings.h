/* SPDX-License-Identifier: MIT */
/* Conflicts (observe/conflicts.h), by load. */
#ifndef ASSAY_CULPRIT_MEETINGS_H
#define ASSAY_CULPRIT_MEETINGS_H

#include "observe/conflicts.h"

struct meeting {
	struct site_id load;
	uint64_t judged; /* judged executions of the load */
	uint64_t count[CONFLICT_KIND_N];
	uint64_t most[CONFLICT_KIND_N];
	struct site_id store[CONFLICT_KIND_N]; /* the most frequent store, by kind */
};

struct meetings {
	struct meeting *v; /* sorted by load */
	size_t n;
};

int meetings_make(struct meetings *m, const struct profile *p); /* Returns -1 without memory. */
void meetings_fini(struct meetings *m);
/* The meetings of the load, or NULL: no execution was judged. */
const struct meeting *meetings_at(const struct meetings *m, struct site_id load);

#endif
