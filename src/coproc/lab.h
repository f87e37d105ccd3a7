/* SPDX-License-Identifier: MIT */
/*
 * One program on the co-processor, with its host part, on a stream of retired instructions; and, for a study, the
 * simple sampler and the exact truth beside it, on the same stream.
 */
#ifndef ASSAY_COPROC_LAB_H
#define ASSAY_COPROC_LAB_H

#include "coproc/feed.h"
#include "coproc/host_counts.h"
#include "coproc/host_values.h"
#include "coproc/truth.h"

#define LAB_PICTURES 40

struct lab_options {
	struct spec spec;
	const struct program *program; /* not owned; must outlive the lab */
	bool study;		       /* run a study of values */
	uint64_t period;	       /* period of the simple sampler, in loads */
};

/* An estimate at some time of the run. */
struct lab_picture {
	uint64_t now, overhead, simple_overhead; /* in cycles */
	struct estimate *estimate, *simple;
	size_t n, simple_n;
};

struct lab {
	struct lab_options o;
	struct copro c;
	struct feed f;
	bool values; /* host_values is the host's part, otherwise host_counts */
	struct host_values of_values;
	struct host_counts of_counts;
	struct truth truth;
	struct simple simple;
	uint64_t unknown; /* loads with unknown values, which are not offered */
	struct lab_picture picture[LAB_PICTURES];
	unsigned npicture;
	uint64_t next_picture;
};

/* -1 with err set; lab_fini() frees either way. */
int lab_init(struct lab *l, const struct lab_options *o, struct err *err);
void lab_fini(struct lab *l);
/* Takes an instruction of a class that the program samples; load: truth_new() of a study, else
 * 0. */
int lab_take(struct lab *l, const struct sample *s, uint32_t hash, size_t load, uint64_t now,
	     struct err *err);
/* Ends the run. */
int lab_end(struct lab *l, struct err *err);

#endif
