/* SPDX-License-Identifier: MIT */
/*
 * Phases of a process: clusters of its intervals, and an interval of each that stands for it.
 *
 *   points ─▶ kmeans, for each k ─▶ BIC chooses k ─▶ phases, by when they first come ─▶ a sample of each
 *
 * Sherwood, Perelman, Hamerly, Calder, "Automatically characterizing large scale program behavior", ASPLOS 2002: the
 * smallest k whose criterion reaches 90 % of the range of all, and of each cluster the interval nearest to its center.
 * Intervals in which one phase gives way to another, and the beginning of a run, make clusters of their own: those that are
 * smaller than `least` join the nearest larger one.
 * With `early`, after Perelman, Hamerly, Calder, "Picking statistically valid and early simulation points", PACT 2003, the
 * first interval of each cluster that is no farther from the center than the cluster's intervals are in the mean.
 */
#ifndef ASSAY_PHASE_CLUSTERS_H
#define ASSAY_PHASE_CLUSTERS_H

#include <stdbool.h>

#include "phase/kmeans.h"

#define CLUSTERS_MAX 30
#define CLUSTERS_LEAST 0.005

struct cluster {
	size_t sample; /* the interval that stands for the phase */
	size_t first;  /* the first interval of the phase */
	size_t intervals;
	uint64_t instructions;
	double share;	 /* share of all instructions */
	double distance; /* distance to the center, the mean over the phase's instructions */
	/*
	 * share of the phase's instructions that the sample's blocks account for, at the sample's
	 * proportions
	 */
	double held;
};

struct clusters {
	size_t n; /* number of intervals */
	uint32_t *label;
	struct cluster *cluster;
	unsigned k;
	uint64_t instructions;
	uint64_t typical;	      /* length of the median interval */
	double bic[CLUSTERS_MAX + 1]; /* the criterion, by k */
	unsigned tried;
	double within; /* mean distance of intervals to their center */
	/*
	 * mean distance of two centers, weighted by the product of their shares; 0: there is one
	 * phase
	 */
	double between;
	double silhouette; /* silhouette, the mean over intervals, -1 to 1; 0: there is one phase */
	double held;	   /* mean over the clusters of their `held` */
	double early_end;  /* share of the run at which the last sample ends */
};

struct clusters_options {
	unsigned k;    /* number of clusters; 0: the one that the criterion chooses */
	unsigned most; /* clusters at most; 0: CLUSTERS_MAX */
	/* share of the instructions below which a phase joins another, unless k is given */
	double least;
	bool early;
	uint64_t
		/*
		 * instructions that an interval needs to stand for others; 0: half of the typical
		 * interval
		 */
		sample;
};

/* -1 with err set: no memory, or no intervals. */
int clusters_find(struct clusters *c, const struct phases *p, const struct clusters_options *o,
		  struct err *err);
void clusters_fini(struct clusters *c);

#endif
