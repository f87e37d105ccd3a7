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
	size_t sample; /* interval that stands for it */
	size_t first;  /* interval */
	size_t intervals;
	uint64_t instructions;
	double share;	 /* of all instructions */
	double distance; /* mean distance of its instructions' intervals to the center */
	double held; /* share of its instructions that the sample's blocks account for, at the sample's proportions */
};

struct clusters {
	size_t n; /* intervals */
	uint32_t *label;
	struct cluster *cluster;
	unsigned k;
	uint64_t instructions;
	uint64_t typical;	      /* the median interval's length */
	double bic[CLUSTERS_MAX + 1]; /* by k, as far as tried */
	unsigned tried;
	double within; /* mean distance of intervals to their center */
	double between; /* mean distance of two centers, by the product of their shares; 0: there is one */
	double silhouette; /* mean over intervals, -1 to 1; 0: there is one cluster */
	double held;	   /* mean of the clusters' */
	double early_end;  /* share of the run at which the last sample ends */
};

struct clusters_options {
	unsigned k;    /* number of clusters; 0: the one that the criterion chooses */
	unsigned most; /* clusters at most; 0: CLUSTERS_MAX */
	double least; /* share of the instructions: smaller phases join others, unless k is given */
	bool early;
	uint64_t
		sample; /* instructions that an interval has to have to stand for others; 0: half of the typical one */
};

/* -1 with err set: no memory, or no intervals. */
int clusters_find(struct clusters *c, const struct phases *p, const struct clusters_options *o,
		  struct err *err);
void clusters_fini(struct clusters *c);

#endif
