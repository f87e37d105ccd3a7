/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a run are observed, and what each stands for. Positions and sizes are in instructions.
 *
 *   ├── skip ──┤─ warm-up ─┤── sample ──┤──── skip ────┤─ warm-up ─┤── sample ──┤── …
 *                          start      + size
 *
 * A targeted schedule is told by a specification string, as the RSIML simulator takes it ("Targeted Sampling" in its
 * manual): items joined by colons, each a letter and a number, read from left to right.
 *
 *   m1000:s500:w2:s1800:m1:e1874500
 *   m  the multiplier of the s and e that follow; 1 to begin with
 *   w  the weight of the samples that follow; 1 to begin with
 *   s  a sample begins there
 *   e  the instructions of the whole benchmark: required
 *
 * That says: samples at 500,000 with weight 1 and at 1,800,000 with weight 2, of a run of 1,874,500 instructions.
 */
#ifndef ASSAY_STREAM_SCHEDULE_H
#define ASSAY_STREAM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum schedule_kind {
	SCHEDULE_WHOLE,	   /* everything is observed */
	SCHEDULE_SINGLE,   /* one sample, behind what is skipped */
	SCHEDULE_PERIODIC, /* samples at skip, skip + period, skip + 2 periods … */
	SCHEDULE_TARGETED,
};
extern const char *const schedule_kind_name[];

#define SCHEDULE_SAMPLES_MAX 65536
#define SCHEDULE_SIZE_DEFAULT 50000
#define SCHEDULE_PERIOD_DEFAULT 5000000
#define SCHEDULE_MOST 1e15 /* of any position or size */

struct schedule_sample {
	uint64_t start;
	double weight;
	unsigned column; /* of its item in the specification, from 1 */
};

/* How what a model keeps between samples is kept as it would be in a run without them. */
enum schedule_warming {
	SCHEDULE_WARM_NONE, /* by the warm-up before each sample alone */
	SCHEDULE_WARM_LINES, /* which lines are touched between samples is told to the large caches */
	SCHEDULE_WARM_ALL,   /* all that lies between samples is warm-up */
};

struct schedule {
	int kind;    /* enum schedule_kind */
	int warming; /* enum schedule_warming */
	uint64_t size, warmup;
	uint64_t period;
	uint64_t skip;		       /* where the first sample begins, single and periodic */
	bool skip_given, begins_given; /* private */
	uint64_t end;		       /* targeted: of the benchmark */
	struct schedule_sample *sample;
	size_t n;
};

void schedule_fini(struct schedule *s);
/* Adds what a specification string says. Returns 0, or -1 with err set: where in the string, and why. */
int schedule_parse_targets(struct schedule *s, const char *spec, struct err *err);
/* Lines of settings, of which those that a schedule consists of are: ss_target_spec, ss_sample_size, ss_warmup_size,
 * ss_sample_period, ss_skip; empty ones and those that begin with # say nothing. `name` is the file's, for messages. */
int schedule_parse_lines(struct schedule *s, const char *text, size_t n, const char *name,
			 struct err *err);
/*
 * What --schedule says: whole; single or periodic, also with settings: periodic:size=1e4,period=1e6,skip=0,warmup=0;
 * or a specification string.
 */
int schedule_parse(struct schedule *s, const char *text, struct err *err);
/* When all is known: chooses the kind where none was named (targeted, else periodic, else single), puts defaults where
 * nothing is said, and finds samples that overlap or lie beyond the end. */
int schedule_settle(struct schedule *s, struct err *err);

/* What data of the sample of that number is multiplied by. */
double schedule_weight(const struct schedule *s, uint64_t number);
/* How much longer or shorter a run may be than the benchmark that the targets were chosen for: max(1000, 4e-5 end). */
uint64_t schedule_fuzz(uint64_t end);
/* Whether a run of so many instructions is the one that the targets were chosen for. */
bool schedule_matches(const struct schedule *s, uint64_t instructions);

#endif
