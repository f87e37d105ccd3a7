/* SPDX-License-Identifier: MIT */
/* The options of `assay record` as they were given, and what makes a session of them. */
#ifndef ASSAY_CMD_RECORD_PRIV_H
#define ASSAY_CMD_RECORD_PRIV_H

#include "base/opt.h"
#include "cmd/session.h"

#define RECORD_CACHE_KIB 393216

struct record_given {
	double rate, seconds, budget; /* budget: per cent */
	struct opt_uints pids;
	unsigned burst, tid, ring_mib, capacity;
	unsigned cache_kib, code_kuops, neighbourhood, distance;
	const char *output, *event, *sketch, *observe, *machine, *cgroup, *call_graph, *policy;
	bool no_children, all, quiet, exact, kernel_buffers, reuse, pgo, stacks, no_stacks;
	unsigned line, snapshots;
	double interval;
	const char *interval_unit, *lines_how, *schedule, *warming;
	double sample_size, warmup_size, sample_period, skip;
	bool allow_mismatch;
};
extern struct record_given record_given;
#define GIVEN(field) (&record_given.field)

/* The name of the first of these options that was on the command line, or NULL. */
#define RECORD_OPTION(...) opt_given(&cmd_record, (const void *const[]){ __VA_ARGS__, NULL })

/* What --exact --observe can be. */
struct record_observer {
	const char *name;
	unsigned observe, simulate; /* as in struct session_options */
	/* --schedule auto observes one instruction in so many, which aims at a run of one and a half times
	 * native (bench/schedule); 0: what is observed of a part of a run cannot be scaled, */
	double part;
	const char *whole; /* namely this */
	bool warms;	   /* a simulated machine has a state that needs warming up */
	double interval;   /* intervals, at first and at most; 0: there are none */
	unsigned snapshots;
};
/* The observer of an exact recording; of a sampled one, that of counts. */
const struct record_observer *record_observer(void);

bool record_has_policy(void);

/* Refuses options that contradict each other, or that would do nothing; argc: words of the command. */
int record_check(int argc, struct err *err);

/* Chooses what is observed of an exact run. */
int record_schedule(struct session_options *o, struct err *err);

/* Chooses the burst and whether stacks are recorded, so that the sampler leaves the program half of its time. Refuses
 * rates that this machine does not have. */
int record_pace(struct sampler_options *o, struct err *err);

#endif
