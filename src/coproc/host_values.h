/* SPDX-License-Identifier: MIT */
/* The host's part of the program "values", and the simple sampler that it is compared with. */
#ifndef ASSAY_COPROC_HOST_VALUES_H
#define ASSAY_COPROC_HOST_VALUES_H

#include "coproc/feed.h"
#include "coproc/table.h"

#define HOST_LOOKS 64

struct host_values {
	struct table table;
	/* told */
	uint64_t copies, thrashes, records, masked, resampled;
	/* private */
	const struct program *p;
	int failed, off, replaced, active, stats, cand;
	const struct program_field *hits, *misses, *total;
	uint64_t enough, high, low, rounds, timer, resample, limit;
	uint64_t
		wait; /* to the timer's next interrupt: less where the program is divided, so that all parts have a turn */
	unsigned bits; /* of the partition */
	uint64_t part, turn_since;
	uint64_t resample_at, done_before, look;
	/* Masked loads by the look, modulo HOST_LOOKS, at which they are sampled again: number + 1, linked by `later`. */
	uint32_t calendar[HOST_LOOKS];
	uint64_t random;
	uint64_t *entry, *value, *stat; /* copies of the arrays */
};

/* -1 with err set: the program is not one that it knows the registers of. */
int host_values_init(struct host_values *h, const struct program *p, const struct spec *s,
		     struct err *err);
void host_values_fini(struct host_values *h);
struct host host_values_host(struct host_values *h);

/*
 * The simple sampler: a load now and then, at random distances, goes into the buffer as it is; when that is full the
 * host is interrupted and records each.
 */
struct simple {
	struct table table;
	uint64_t samples, interrupts, overhead;
	/* private */
	struct spec s;
	uint32_t held, room;
	uint64_t period, left, random;
	struct {
		uint32_t pc, value;
	} * buffer;
};

/* period: loads from one sample to the next, on average. -1 without memory. */
int simple_init(struct simple *m, const struct spec *s, uint64_t period);
void simple_fini(struct simple *m);
int simple_take(struct simple *m, uint32_t pc, uint64_t value); /* -1 without memory */
int simple_end(struct simple *m);

#endif
