/* SPDX-License-Identifier: MIT */
/*
 * k-means of weighted points, and the Bayesian information criterion of what it finds: Pelleg, Moore, "X-means: extending
 * k-means with efficient estimation of the number of clusters", ICML 2000, as SimPoint uses it (ASPLOS 2002, section 4).
 */
#ifndef ASSAY_PHASE_KMEANS_H
#define ASSAY_PHASE_KMEANS_H

#include <stddef.h>
#include <stdint.h>

#include "phase/points.h"

struct kmeans {
	unsigned k;
	double (*center)[POINT_DIMENSIONS];
	double *weight;	 /* weight of each cluster: the sum of its points' weights */
	uint32_t *label; /* cluster of each point */
	double spread;	 /* sum of weight * squared distance to the own center */
	double bic;
};

/* Finds the best clustering of several starts. No cluster is empty, so there may be fewer than
 * `k`. -1 without memory. */
int kmeans_find(struct kmeans *m, const struct point *p, size_t n, unsigned k);
/* Merges clusters that have less than that share of the weight into others; the largest one
 * stays. */
void kmeans_prune(struct kmeans *m, const struct point *p, size_t n, double least);
void kmeans_fini(struct kmeans *m);

#endif
