/* SPDX-License-Identifier: MIT */
#include "estimate/estimate.h"

#include <math.h>
#include <string.h>

#include "estimate/anchor.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"
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
	if (!rc && parts_make(e))
		rc = err_no_memory(err, "estimates");
	e->scale = anchor_cycles(src->profile);
	if (!rc && method == ESTIMATE_DCPI) {
		rc = dcpi_estimate(e, src, err);
	} else if (!rc) {
		rc = make_relative(e, err);
		if (!rc)
			rc = anchor_estimate(e, src, err);
		if (!rc && method == ESTIMATE_COUNTED)
			rc = counted_estimate(e, src, err);
	}
	if (rc)
		estimate_fini(e);
	return rc;
}

/* Standard deviation, by confidence, of how blocks compare within a part. */
static const double compare_error[CONFIDENCE_N] = { 0.7, 0.25, 0.12, 0.05 };
#define NINE_OF_TEN 1.645 /* standard deviations in nine cases of ten, of a normal distribution */
#define DCPI_ERROR 0.8	  /* error of DCPI's method, whose scale is not anchored */

double estimate_error(const struct estimate *e, const struct estimate_proc *p, uint32_t block)
{
	double within = compare_error[p->block[block].confidence];
	double part = e->method == ESTIMATE_DCPI ? DCPI_ERROR * DCPI_ERROR
						 : e->parts->part[part_of(e, p, block)].variance;

	if (e->method == ESTIMATE_COUNTED && p->block[block].confidence == CONFIDENCE_HIGH)
		return 0;
	return sqrt(part + within * within);
}

struct estimate_sum estimate_sum(const struct estimate *e, const struct estimate_proc *p)
{
	struct estimate_sum s = { 0 };

	for (uint32_t b = CFG_FIRST_BLOCK; b < p->g.nblocks; b++) {
		double n = e->scale * p->block[b].f * p->g.block[b].ninsn;

		if (p->block[b].confidence == CONFIDENCE_NONE)
			continue;
		s.executed += n;
		s.error += n * estimate_error(e, p, b);
	}
	if (s.executed > 0)
		s.error /= s.executed;
	return s;
}

double estimate_counted(const struct estimate *e)
{
	double all = 0, counted = 0;

	for (uint32_t i = 0; i < e->parts->n; i++) {
		all += e->parts->part[i].samples;
		counted += e->parts->part[i].counted ? e->parts->part[i].samples : 0;
	}
	return all > 0 ? counted / all : 0;
}

double estimate_factor(double error)
{
	return exp(NINE_OF_TEN * error);
}
