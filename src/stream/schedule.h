/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a run are observed, and what each stands for. Positions and sizes are in instructions.
 *
 *        ├── skip ──┤─ warm-up ─┤── sample ──┤──── skip ────┤─ warm-up ─┤── sample ──┤── and so on
 *                             start      + size
 *
 * A specification string describes a targeted schedule in the form of the RSIML simulator (manual, "Targeted Sampling"):
 * items joined by colons, each a letter and a number, read from left to right.
 *
 *        m1000:s500:w2:s1800:m1:e1874500
 *
 *   m  the factor of the following s and e; initially 1
 *   w  the weight of the following samples; initially 1
 *   s  the start of a sample
 *   e  the instructions of the whole benchmark: required
 *
 * The example has samples at 500,000 with weight 1 and at 1,800,000 with weight 2, in a run of 1,874,500 instructions.
 */
#ifndef ASSAY_STREAM_SCHEDULE_H
#define ASSAY_STREAM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum schedule_kind {
	SCHEDULE_WHOLE,	   /* everything is observed */
	SCHEDULE_SINGLE,   /* one sample, after the part that is skipped */
	SCHEDULE_PERIODIC, /* samples at skip, skip + period, skip + 2 periods and so on */
	SCHEDULE_TARGETED,
};
extern const char *const schedule_kind_name[];

#define SCHEDULE_SAMPLES_MAX 65536
#define SCHEDULE_SIZE_DEFAULT 50000
#define SCHEDULE_PERIOD_DEFAULT 5000000
#define SCHEDULE_MOST 1e15 /* largest position or size */

struct schedule_sample {
	uint64_t start;
	double weight;
	unsigned column; /* column of its item in the specification, from 1 */
};

/* How a model's state between samples is kept as it would be in a run without them. */
enum schedule_warming {
	SCHEDULE_WARM_NONE,  /* only by the warm-up before each sample */
	SCHEDULE_WARM_LINES, /* the large caches are told which lines are touched between samples */
	SCHEDULE_WARM_ALL,   /* everything between samples is warm-up */
};

struct schedule {
	int kind;    /* enum schedule_kind */
	int warming; /* enum schedule_warming */
	uint64_t size, warmup;
	uint64_t period;
	uint64_t skip;		       /* position of the first sample, single and periodic */
	bool skip_given, begins_given; /* private */
	uint64_t end;		       /* targeted: instructions of the benchmark */
	struct schedule_sample *sample;
	size_t n;
};

void schedule_fini(struct schedule *s);
/* Parses a specification string and adds its samples. Returns 0, or -1 with err set, which says
 * where in the string the error is. */
int schedule_parse_targets(struct schedule *s, const char *spec, struct err *err);
/* Parses lines of settings that make up a schedule: ss_target_spec, ss_sample_size,
 * ss_warmup_size, ss_sample_period, ss_skip. Empty lines and lines that begin with # are
 * ignored. `name` is the file's name, for messages. */
int schedule_parse_lines(struct schedule *s, const char *text, size_t n, const char *name,
			 struct err *err);
/*
 * Parses the argument of --schedule: whole; single or periodic, optionally with settings, as in
 * periodic:size=1e4,period=1e6,skip=0,warmup=0; or a specification string.
 */
int schedule_parse(struct schedule *s, const char *text, struct err *err);
/* Completes a schedule after parsing: chooses the kind if none was named (targeted, else
 * periodic, else single), fills in defaults, and rejects samples that overlap or lie beyond the
 * end. */
int schedule_settle(struct schedule *s, struct err *err);

/* Returns the factor for the data of the sample of that number. */
double schedule_weight(const struct schedule *s, uint64_t number);
/* The largest accepted difference between a run's length and that of the benchmark for which the
 * targets were chosen: max(1000, 4e-5 end). */
uint64_t schedule_fuzz(uint64_t end);
/* Whether a run of that many instructions is the one for which the targets were chosen. */
bool schedule_matches(const struct schedule *s, uint64_t instructions);

#endif
