/* SPDX-License-Identifier: MIT */
#include "estimate/estimate.h"

#include <stdlib.h>
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

/* DCPI's estimates, by block of the program; to be freed. */
static double *keep_blocks(const struct estimate *e)
{
	double *f = calloc(e->nblocks + 1, sizeof(*f));

	for (size_t i = 0; f && i < e->nproc; i++)
		for (uint32_t b = 0; b < e->proc[i].g.nblocks; b++) {
			f[e->proc[i].first + b] = e->proc[i].block[b].f;
			e->proc[i].block[b] = (struct estimate_value){ 0 };
		}
	for (size_t i = 0; f && i < e->nproc; i++)
		memset(e->proc[i].edge, 0, e->proc[i].g.nedges * sizeof(*e->proc[i].edge));
	return f;
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
	double *by_dcpi;
	int rc;

	*e = (struct estimate){ .method = method };
	rc = evidence_collect(e, src, err);
	if (!rc)
		rc = dcpi_estimate(e, src, err);
	e->scale = anchor_cycles(src->profile);
	if (!rc && method != ESTIMATE_DCPI) {
		by_dcpi = keep_blocks(e);
		rc = by_dcpi ? make_relative(e, err) : err_set(err, ERR_FAILED, "no memory");
		if (!rc)
			e->scale *= anchor_ratio(e, by_dcpi);
		free(by_dcpi);
	}
	if (rc)
		estimate_fini(e);
	return rc;
}
