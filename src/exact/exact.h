/* SPDX-License-Identifier: MIT */
/*
 * The exact source, seen from the recorder: makes the memory that the engine in the observed processes
 * writes to (engine/shared.h), and turns what it finds there into a profile.
 */
#ifndef ASSAY_EXACT_EXACT_H
#define ASSAY_EXACT_EXACT_H

#include "base/err.h"
#include "observe/profile.h"

struct exact;
struct exact_schedule;
struct exact_lines;
struct order_consumer;

/*
 * Makes the shared memory. `mode`: set of EXACT_ bits of engine/shared.h; `lines` with EXACT_LINES,
 * else NULL. With a consumer, which has to live as long, executions go to it in program order, and
 * not into the profile (exact/order.h). NULL with err set.
 */
struct exact *exact_open(unsigned mode, const struct exact_lines *lines,
			 const struct order_consumer *consumer, struct profile *p, struct err *err);
void exact_close(struct exact *e);
/* Sets the room for translated code in each process, in bytes; 0: as much as there is. */
void exact_limit_code(struct exact *e, uint64_t bytes);

/* A sample, or its remaining part if a new image or a fork has cut it in two. */
struct exact_sample {
	uint32_t pid;
	uint64_t number;     /* number in the schedule, from 0 */
	uint64_t begin, end; /* instructions */
	bool cut;	     /* its process ended within the sample */
};
struct exact_sampling {
	void *arg;
	/* Called when everything that these samples observed is in the profile, and nothing else
	 * has been added to it since the last call. -1 with err set. */
	int (*closed)(void *arg, const struct exact_sample *s, size_t n, struct err *err);
};
/* Sets, before the program begins, which parts of it are observed (engine/shared.h; `list` is not
 * used). `starts` has s->n elements. `sampling` has to live as long. */
int exact_schedule(struct exact *e, const struct exact_schedule *s, const uint64_t *starts,
		   const struct exact_sampling *sampling, struct err *err);
/* Returns the number of instructions that the first process has executed. */
uint64_t exact_position(const struct exact *e);
/* Returns the samples that have ended since `closed` was called last, *n of them. */
const struct exact_sample *exact_samples(const struct exact *e, size_t *n);

/*
 * Returns the words of a command that runs argv under the engine: valid until exact_close. NULL
 * with err set if the engine cannot be found. The process that executes them has to inherit the
 * recorder's descriptors.
 */
char *const *exact_command(struct exact *e, char *const argv[], struct err *err);

/* Adds the contents of streams to the profile; and what has been counted since the last call, for
 * processes that have ended, or for all if `counters`. */
int exact_poll(struct exact *e, bool counters, struct err *err);
/* Adds to the profile what has been read of streams and waits in sinks. */
int exact_flush(struct exact *e, struct err *err);
/* Waits until a stream holds something, or for `ms` milliseconds. */
void exact_wait(struct exact *e, int ms);
/* Reads everything left at the end, and names the procedures that ran. */
int exact_finish(struct exact *e, struct err *err);

struct exact_totals {
	uint64_t processes, threads, blocks;
	uint64_t instructions; /* instructions executed; 0: not known */
	uint64_t native;       /* programs that ran without the engine */
	uint64_t
		uncounted; /* instructions that were executed, but not observed: their code changes */
	uint64_t shortened; /* accesses of string instructions that were too long to be followed */
	uint64_t forgotten; /* open calls that were forgotten because there were too many */
};
/* Fills in t. Without a schedule each execution counts as a window, so this also sets the windows of the profile's
 * sites. */
void exact_totals(struct exact *e, struct exact_totals *t);

#endif
