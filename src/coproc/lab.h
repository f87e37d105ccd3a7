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
	const struct program *program; /* lives as long */
	bool study;		       /* of values */
	uint64_t period;	       /* of the simple sampler, loads */
};

/* What was estimated at some time. */
struct lab_picture {
	uint64_t now, overhead, simple_overhead; /* cycles */
	struct estimate *estimate, *simple;
	size_t n, simple_n;
};

struct lab {
	struct lab_options o;
	struct copro c;
	struct feed f;
	bool values; /* the host part is host_values, else host_counts */
	struct host_values of_values;
	struct host_counts of_counts;
	struct truth truth;
	struct simple simple;
	uint64_t unknown; /* loads whose value is not known: not offered */
	struct lab_picture picture[LAB_PICTURES];
	unsigned npicture;
	uint64_t next_picture;
};

/* -1 with err set; lab_fini() frees either way. */
int lab_init(struct lab *l, const struct lab_options *o, struct err *err);
void lab_fini(struct lab *l);
/* An instruction of a class that the program asked for; load: truth_new() of a study, else 0. */
int lab_take(struct lab *l, const struct sample *s, uint32_t hash, size_t load, uint64_t now,
	     struct err *err);
/* The end of the run. */
int lab_end(struct lab *l, struct err *err);

#endif
