/* SPDX-License-Identifier: MIT */
#include "estimate/estimate.h"

#include <string.h>

#include "estimate/anchor.h"
#include "estimate/estimate_priv.h"
#include "estimate/reconcile.h"

const char *const estimate_method_name[ESTIMATE_METHOD_N] = {
#define X(id, name) [ESTIMATE_##id] = name,
	ESTIMATE_METHODS(X)
#undef X
};

int estimate_method_by_name(const char *name)
{
	for (int i = 0; i < ESTIMATE_METHOD_N; i++)
		if (strcmp(estimate_method_name[i], name) == 0)
			return i;
	return -1;
}

static int make_relative(struct estimate *e, struct err *err)
{
	if (walk_estimate(e, err))
		return -1;
	for (size_t i = 0; i < e->nproc && e->method == ESTIMATE_FLOW; i++)
		if (reconcile(&e->proc[i].g, e->proc[i].block, e->proc[i].edge, err) < 0)
			return -1;
	return 0;
}

int estimate_make(struct estimate *e, const struct estimate_source *src,
		  enum estimate_method method, struct err *err)
{
	int rc;

	*e = (struct estimate){ .method = method };
	rc = evidence_collect(e, src, err);
	e->scale = anchor_cycles(src->profile);
	if (!rc && method == ESTIMATE_DCPI) {
		rc = dcpi_estimate(e, src, err);
	} else if (!rc) {
		rc = make_relative(e, err);
		if (!rc)
			rc = anchor_estimate(e, src->profile, err);
		if (!rc && method == ESTIMATE_COUNTED)
			rc = counted_estimate(e, src, err);
	}
	if (rc)
		estimate_fini(e);
	return rc;
}
