/* SPDX-License-Identifier: MIT */
/*
 * Estimated frequencies compared with true executions, in the manner of Anderson et al.,
 * "Continuous profiling: where have all the cycles gone?", SOSP 1997.
 *
 * Instructions are weighted by their samples, edges by their true executions. Relative: at the one
 * scale for the whole program that fits best. Absolute: as estimated, and shown by annotate.
 * Anchored: at the one scale that another exact run gives. Within procedures: each procedure at the
 * scale at which its executed instructions sum to the truth; the remaining difference to "relative"
 * is how procedures compare. Code with samples and without an estimate counts as off by more than
 * any limit.
 */
#ifndef ASSAY_VERIFY_FREQUENCY_H
#define ASSAY_VERIFY_FREQUENCY_H

#include "estimate/estimate.h"
#include "report/counts.h"

#define FREQUENCY_WITHIN 3 /* limits: 5, 10, 15 % */
#define FREQUENCY_BUCKETS 20
/* Bucket i holds errors from -50 + 5 i to -45 + 5 i per cent; the first and last also hold all
 * beyond. */
#define FREQUENCY_BUCKET_FROM (-0.5)
#define FREQUENCY_BUCKET 0.05

struct frequency {
	double samples;			   /* samples of instructions that ran, in ELF images */
	double estimated;		   /* samples of those with an estimate */
	double relative[FREQUENCY_WITHIN]; /* samples within the limits */
	double absolute[FREQUENCY_WITHIN];
	/* samples within the limits at the scale of another exact run */
	double anchored[FREQUENCY_WITHIN];
	double procedure[FREQUENCY_WITHIN]; /* samples within the limits, within procedures */
	double half, twice; /* samples within a factor of 1.5, and of 2, as estimated */
	double held;	    /* samples whose truth is in the interval for nine cases in ten */
	/* samples whose procedure's executed instructions are in their interval */
	double held_procedure;
	double width;	       /* sum over samples of the logarithm of half an interval */
	double off, off_low;   /* samples beyond 15 %, relative; those of low confidence or none */
	double low;	       /* samples of low confidence, or none */
	double factor;	       /* estimated scale over the best one */
	double edges, edges10; /* executions of edges; those within 10 % */
	double histogram[FREQUENCY_BUCKETS][CONFIDENCE_N];	/* samples by error */
	double edge_histogram[FREQUENCY_BUCKETS][CONFIDENCE_N]; /* executions by error */
	/* samples, by the error of the displayed CPI: time over estimated executions, against
	 * time over true ones */
	double cpi_histogram[FREQUENCY_BUCKETS][CONFIDENCE_N];
	char warning[512];
};

/* Measures the estimate of a method. counts: executions of another exact run; NULL: there is
 * none, and ESTIMATE_COUNTED is impossible. repeat: how often the sampled run repeated the exact
 * run's work. -1 with err set: no memory. */
int frequency_measure(struct frequency *f, struct reading *sampled, const struct reading *exact,
		      enum estimate_method method, struct counts *counts, double repeat,
		      struct err *err);

#endif
