/* SPDX-License-Identifier: MIT */
/* The host's part of the program "values", and the simple sampler that it is compared with. */
#ifndef ASSAY_COPROC_HOST_VALUES_H
#define ASSAY_COPROC_HOST_VALUES_H

#include "coproc/feed.h"
#include "coproc/table.h"

#define HOST_LOOKS 64

struct host_values {
	struct table table;
	/* statistics */
	uint64_t copies, thrashes, records, masked, resampled;
	/* private */
	const struct program *p;
	int failed, off, replaced, active, stats, cand;
	const struct program_field *hits, *misses, *total;
	uint64_t enough, high, low, rounds, timer, resample, limit;
	uint64_t
		/* cycles until the timer's next interrupt: fewer where the program is divided,
		 * so that all parts have a turn */
		wait;
	unsigned bits; /* bits that number the parts */
	uint64_t part, turn_since;
	uint64_t resample_at, done_before, look;
	/* Masked loads, by the look (modulo HOST_LOOKS) at which they are sampled again: number
	 * + 1, linked by `later`. */
	uint32_t calendar[HOST_LOOKS];
	uint64_t random;
	uint64_t *entry, *value, *stat; /* copies of the co-processor's arrays */
};

/* Returns -1 with err set if the program lacks the registers that the host needs. */
int host_values_init(struct host_values *h, const struct program *p, const struct spec *s,
		     struct err *err);
void host_values_fini(struct host_values *h);
struct host host_values_host(struct host_values *h);

/*
 * The simple sampler: loads at random distances go into the buffer unchanged; when it is full, the
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

/* Initialises; period: mean number of loads between samples. -1 without memory. */
int simple_init(struct simple *m, const struct spec *s, uint64_t period);
void simple_fini(struct simple *m);
int simple_take(struct simple *m, uint32_t pc, uint64_t value); /* Returns -1 without memory. */
int simple_end(struct simple *m);

#endif
