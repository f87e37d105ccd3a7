/* SPDX-License-Identifier: MIT */
/*
 * The parts of an exact run that were observed (stream/schedule.h), sample by sample; and
 * registered counters with their values at the ends of samples.
 *
 * A batch is everything observed between two reads of the recorder: one sample, or several
 * consecutive ones of the same weight. The total of a counter is the sum over batches of weight
 * times count; the differences between batches tell how far that sum may be off (sampled_total).
 */
#ifndef ASSAY_OBSERVE_SAMPLED_H
#define ASSAY_OBSERVE_SAMPLED_H

#include "observe/misses.h"
#include "observe/profile.h"

/* Registered counters, in addition to those of simulated misses. One line an item. */
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
	uint64_t number;     /* number of the schedule's sample, from 0 */
	uint64_t begin, end; /* position in instructions of its process */
	uint32_t pid, batch;
	bool cut; /* its process ended within the sample */
};

struct sample_batch {
	double weight;
	bool dropped; /* the sample was incomplete, and is not in the profile */
	uint64_t n[SAMPLED_N];
};

struct sampled {
	uint32_t run;
	char *schedule; /* the schedule as given, or as chosen by --schedule auto */
	uint64_t size, warmup;
	uint64_t instructions; /* instructions of the first process, as far as known */
	/* instructions of the benchmark that targets were chosen for; or 0 */
	uint64_t expected;
	/* the run is not the expected benchmark, which --allow-mismatch accepts */
	bool mismatch;
	/* a signal ended the run, which might have executed more instructions */
	bool killed;
	bool scaled; /* counts are scaled to the whole run */
	struct sample *sample;
	size_t n;
	struct sample_batch *batch;
	size_t nbatch;
};

/* Adds an entry for the profile's last run; NULL without memory. */
struct sampled *sampled_new(struct profile *p, const char *schedule);
struct sampled *sampled_of(const struct profile *p, uint32_t run); /* The run's entry, or NULL. */
/* Returns -1 without memory. */
int sampled_add(struct sampled *s, const struct sample *one);
/* Adds a batch, zeroed; NULL without memory. */
struct sample_batch *sampled_batch(struct sampled *s);
/* Reads the current counters of the profile. */
void sampled_count(const struct profile *p, uint64_t n[SAMPLED_N]);
/* Estimates a counter's total, and the half-width of its 95 % interval: negative where there are too few batches to
 * tell. */
double sampled_total(const struct sampled *s, unsigned counter, double *error);
/* The largest number of independent observations of a site whose observations stand for n
 * executions, in that many batches: the number of samples that saw the site, if all samples of a
 * batch saw what the batch saw. 0: everything was observed. */
double sampled_independent(const struct profile *p, double n, uint64_t batches);
/* Number of instructions that were observed. */
uint64_t sampled_observed(const struct sampled *s);
/* Finds the counters that two runs with the same schedule counted differently. False: none. */
struct sampled_difference {
	uint64_t instructions[2]; /* instructions of both runs */
	size_t samples[2];
	const char *counter; /* the first one whose total differs, or NULL */
	double total[2];     /* its totals */
	bool located; /* whether the first sample of the first batch that differs is known: */
	uint64_t number, begin;
};
bool sampled_differ(const struct sampled *a, const struct sampled *b, struct sampled_difference *d);
int sampled_merge(struct profile *dst, const struct profile *src, uint32_t first_run);
void sampled_free(struct profile *p);

#endif
