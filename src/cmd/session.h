/* SPDX-License-Identifier: MIT */
/* A running recording: the sampler, the profile, the file, and the program under observation. */
#ifndef ASSAY_CMD_SESSION_H
#define ASSAY_CMD_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/opt.h"
#include "engine/shared.h"
#include "model/machine.h"
#include "sampler/sampler.h"
#include "sketch/hot.h"
#include "stream/schedule.h"

struct order_consumer;
struct profile;

/* A consumer of the executed instructions, in place of the simulated machine. */
struct session_custom {
	void *arg;
	const char *observed; /* what the recording is labelled with */
	bool records;	      /* false: nothing is recorded */
	/* NULL with err set */
	const struct order_consumer *(*start)(void *arg, struct profile *p, struct err *err);
	/* whether the consumer has failed and takes nothing more */
	bool (*failed)(void *arg);
	/* Called when the run has ended; the profile is what will be recorded. -1 with err set. */
	int (*finish)(void *arg, struct profile *p, struct err *err);
};

struct session_options {
	struct sampler_options sampler;
	const char *output;
	char *const *argv;	      /* the command, NULL-terminated, or NULL */
	const struct opt_uints *pids; /* processes to attach to; may be empty */
	pid_t tid;		      /* a thread to attach to, or 0 */
	bool all;
	const char *cgroup; /* sampled, or NULL */
	double seconds;	    /* longest duration; 0: no limit */
	double budget;	    /* part of all CPUs' time that recording may take; 0: any */
	enum hot_method sketch;
	unsigned sketch_capacity;
	bool quiet;	  /* no closing line */
	unsigned observe; /* --exact: set of EXACT_ bits of engine/shared.h */
	enum {
		SIMULATE_NOTHING,
		SIMULATE_REUSE,
		SIMULATE_MISSES,
		SIMULATE_CONFLICTS,
		SIMULATE_CYCLES
	} simulate;		/* --exact */
	struct machine machine; /* the machine that is simulated */
	unsigned cache_kib;	/* --exact: room for translated code, or 0 */
	unsigned distance;	/* distance within which conflicts are looked for; 0: not at all */
	struct exact_lines lines;
	struct schedule schedule;  /* --exact: what is observed */
	const char *schedule_text; /* the schedule as the user gave it */
	bool allow_mismatch;
	const struct session_custom *custom; /* --exact; or NULL */
};

/*
 * Records. Returns the exit status: the command's own (128 + signal if one ended it), 0 without one, or
 * with err->code set the error's. The recording so far is kept whatever happens.
 */
int session_run(const struct session_options *o, struct err *err);

#endif
