/* SPDX-License-Identifier: MIT */
/*
 * Targeted sampling as a specification: where samples start, their weights, and the number of instructions of the run.
 *
 *   m1:w2.5:s500000:w7:s1800000:e1874500
 *
 * Items are joined by colons, each a letter and a number, read from left to right: m multiplies later positions, w is
 * the weight of later samples, s starts a sample, e is the size of the run. Weighted, the samples' instructions add up
 * to those of the run.
 */
#ifndef ASSAY_PHASE_SPEC_H
#define ASSAY_PHASE_SPEC_H

#include "phase/clusters.h"

struct spec_sample {
	uint64_t start;
	double weight;
};

struct spec {
	struct spec_sample *sample; /* in order of start */
	size_t n;
	uint64_t size, warmup; /* instructions of each sample and of the warm-up before it */
	uint64_t end;	       /* instructions of the run */
};

/* Makes a sample for each cluster, in the middle of the interval that stands for it; the
 * interval is at least that long. -1 with err set. */
int spec_targeted(struct spec *s, const struct phases *p, const struct clusters *c, uint64_t size,
		  uint64_t warmup, struct err *err);
/* How many of `spread` samples in all phase k gets, one at least: half of them by its share, and half by its share times the
 * mean distance of its intervals from its center. */
size_t spec_samples_of(const struct clusters *c, unsigned k, size_t spread);
/* Makes that many samples for each cluster, in the middle of intervals that are evenly spread over
 * those of the cluster. -1 with err set. */
int spec_spread(struct spec *s, const struct phases *p, const struct clusters *c, size_t spread,
		uint64_t size, uint64_t warmup, struct err *err);
/* Makes n evenly spaced samples. -1 with err set: they do not fit. */
int spec_systematic(struct spec *s, uint64_t end, size_t n, uint64_t size, uint64_t warmup,
		    struct err *err);
void spec_fini(struct spec *s);
/* Returns the specification string, to be freed. NULL without memory. */
char *spec_text(const struct spec *s);

#endif
