/* SPDX-License-Identifier: MIT */
/*
 * Estimated frequencies held against true executions (seed 003, section 6.1.5: Figures 8 and 9).
 *
 * Instructions are weighted by their samples, edges by their true executions. Relative: at the one scale
 * for the whole program that suits best. Absolute: as estimated, and shown by annotate. Anchored:
 * at the one scale that another exact run gives. Within procedures: at scales of their own, so that
 * each one's instructions were executed as often, in all, as they were: what is off otherwise is how procedures
 * compare. What has samples and no estimate is off by more than all.
 */
#ifndef ASSAY_REPORT_FREQUENCY_H
#define ASSAY_REPORT_FREQUENCY_H

#include "estimate/estimate.h"
#include "report/counts.h"

#define FREQUENCY_WITHIN 3 /* 5, 10, 15 % */
#define FREQUENCY_BUCKETS 20
/* Bucket i has errors from -50 + 5 i to -45 + 5 i per cent; the first and last all beyond, too. */
#define FREQUENCY_BUCKET_FROM (-0.5)
#define FREQUENCY_BUCKET 0.05

struct frequency {
	double samples;			   /* of instructions that ran, in ELF images */
	double estimated;		   /* of those, with an estimate */
	double relative[FREQUENCY_WITHIN]; /* samples */
	double absolute[FREQUENCY_WITHIN];
	double anchored[FREQUENCY_WITHIN];  /* at the scale of another exact run */
	double procedure[FREQUENCY_WITHIN]; /* within procedures */
	double half, twice;    /* samples: as estimated, within a factor of 1.5, of 2 */
	double held;	       /* samples: the truth is in the interval of nine cases in ten */
	double held_procedure; /* … of their procedure's instructions executed */
	double width;	       /* sum over samples of the logarithm of half an interval */
	double off, off_low;   /* samples beyond 15 %, relative; of low confidence or none */
	double low;	       /* samples of low confidence, or none */
	double factor;	       /* estimated scale over the best one */
	double edges, edges10; /* executions; of edges within 10 % */
	double histogram[FREQUENCY_BUCKETS][CONFIDENCE_N];	/* samples */
	double edge_histogram[FREQUENCY_BUCKETS][CONFIDENCE_N]; /* executions */
	/* samples, by how far the CPI is off that is shown: time over estimated executions, over time over true ones */
	double cpi_histogram[FREQUENCY_BUCKETS][CONFIDENCE_N];
	char warning[512];
};

/* counts: of another exact run; NULL: there is none, and ESTIMATE_COUNTED cannot be. repeat: how often the sampled run did
 * the exact one's work. -1 with err set: no memory. */
int frequency_measure(struct frequency *f, struct reading *sampled, const struct reading *exact,
		      enum estimate_method method, struct counts *counts, double repeat,
		      struct err *err);

#endif
