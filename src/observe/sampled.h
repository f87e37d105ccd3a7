/* SPDX-License-Identifier: MIT */
/*
 * What part of an exact run was observed (stream/schedule.h), sample by sample; and the registered counters: what each
 * of them had counted when samples ended.
 *
 * A batch is what was observed between two looks of the recorder: one sample, or several that follow each other and have
 * the same weight. The total of a counter is the sum over batches of the batch's weight times what was counted in it;
 * how the batches differ says how far that sum may be off (sampled_total).
 */
#ifndef ASSAY_OBSERVE_SAMPLED_H
#define ASSAY_OBSERVE_SAMPLED_H

#include "observe/misses.h"
#include "observe/profile.h"

/* Registered counters, beside those of simulated misses. One line an item. */
#define SAMPLED_COUNTERS(X) \
	X(INSTRUCTIONS, "instructions", "instructions executed") \
	X(CONDITIONAL, "conditional", "conditional branches executed") \
	X(TAKEN, "taken", "of those, taken") \
	X(CALLS, "calls", "calls executed") \
	X(CYCLES, "cycles", "cycles of the simulated core")
enum sampled_counter {
#define X(id, name, what) SAMPLED_##id,
	SAMPLED_COUNTERS(X)
#undef X
	SAMPLED_MISSES,
	SAMPLED_N = SAMPLED_MISSES + MISS_KIND_N,
};
const char *sampled_counter_name(unsigned counter);

struct sample {
	uint64_t number;     /* of the schedule's, from 0 */
	uint64_t begin, end; /* instructions of its process */
	uint32_t pid, batch;
	bool cut; /* its process ended within it */
};

struct sample_batch {
	double weight;
	bool dropped; /* it is not in the profile: its sample was not complete */
	uint64_t n[SAMPLED_N];
};

struct sampled {
	uint32_t run;
	char *schedule; /* as it was given, or what --schedule auto chose */
	uint64_t size, warmup;
	uint64_t instructions; /* of the first process, as far as is known */
	uint64_t expected;     /* of the benchmark that targets were chosen for; or 0 */
	bool mismatch;	       /* the run is not the expected benchmark: --allow-mismatch */
	bool killed;	       /* a signal ended the run: there may have been more instructions */
	bool scaled;	       /* counts stand for the whole run */
	struct sample *sample;
	size_t n;
	struct sample_batch *batch;
	size_t nbatch;
};

/* Added to the profile, of its last run; NULL without memory. */
struct sampled *sampled_new(struct profile *p, const char *schedule);
struct sampled *sampled_of(const struct profile *p, uint32_t run); /* or NULL */
/* -1 without memory. */
int sampled_add(struct sampled *s, const struct sample *one);
struct sample_batch *sampled_batch(struct sampled *s); /* a new one, zeroed; NULL without memory */
/* What the profile's counters are now. */
void sampled_count(const struct profile *p, uint64_t n[SAMPLED_N]);
/* The estimate of a counter's total, and the half-width of its 95 % interval: 0 where everything was observed, less than
 * 0 where there are too few batches to tell. */
double sampled_total(const struct sampled *s, unsigned counter, double *error);
/* How many independent observations a site has at most whose observations stand for n executions, in so many batches: as
 * many as samples saw it, if one that a batch saw was in all of the batch's samples. 0: everything was observed. */
double sampled_independent(const struct profile *p, double n, uint64_t batches);
/* Instructions that were observed. */
uint64_t sampled_observed(const struct sampled *s);
/* What two runs under the same schedule have counted differently. False: nothing. */
struct sampled_difference {
	uint64_t instructions[2]; /* of the runs */
	size_t samples[2];
	const char *counter; /* the first one whose total differs, or NULL */
	double total[2];     /* … its totals */
	bool located;	     /* the first sample of the first batch that differs is known: */
	uint64_t number, begin;
};
bool sampled_differ(const struct sampled *a, const struct sampled *b, struct sampled_difference *d);
int sampled_merge(struct profile *dst, const struct profile *src, uint32_t first_run);
void sampled_free(struct profile *p);

#endif
