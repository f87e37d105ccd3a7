/* SPDX-License-Identifier: MIT */
/*
 * The sampler: timer interrupts, run-ahead windows from the kernel (seed 001; DESIGN, "The sources").
 */
#ifndef ASSAY_SAMPLER_SAMPLER_H
#define ASSAY_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "observe/profile.h"
#include "stream/window.h"

struct sampler_options {
	const char *event;	/* "cpu-clock", "cycles"; NULL: cycles where there is a PMU */
	double rate;		/* samples a second on each CPU that runs */
	unsigned burst;		/* instructions to run ahead, 1 … RA_BURST_MAX */
	unsigned ring_mib;	/* ring buffer, power of two; 0: as rate, burst and CPUs want */
	unsigned code_kuops;	/* room for lifted code, thousands of micro-ops */
	unsigned neighbourhood; /* instructions lifted at a time */
	bool watch;		/* reuse times by watchpoints */
};
extern const struct sampler_options sampler_defaults;

struct sampler;

/* What becomes of each sample: windows, and n == 0 for those that could not run ahead or were in the
 * kernel. -1 with err set ends sampler_poll. */
typedef int (*sampler_sink)(void *ctx, const struct window *w, struct err *err);

/* Loads the kernel program. Images go to p, which outlives the sampler. NULL with err set. */
struct sampler *sampler_open(const struct sampler_options *o, struct profile *p, sampler_sink sink,
			     void *ctx, struct err *err);
int sampler_attach_exec(struct sampler *s, pid_t pid, struct err *err);
int sampler_attach_process(struct sampler *s, pid_t pid, struct err *err);
int sampler_attach_thread(struct sampler *s, pid_t tid, struct err *err);
int sampler_attach_all(struct sampler *s, struct err *err);
int sampler_enable(struct sampler *s, struct err *err); /* not needed after attach_exec */

/* A descriptor that polls readable when samples wait. */
int sampler_fd(const struct sampler *s);
/* Takes the samples that wait from the kernel, and does what they want at once. -1 with err set if the sink failed. */
int sampler_poll(struct sampler *s, struct err *err);
/* Takes all that sampler_poll() took so far to the sink; it does so itself once they are many. */
int sampler_observe(struct sampler *s, struct err *err);
/* Redraws the periods; to be called about ten times a second. */
void sampler_redraw(struct sampler *s);
/* Stops sampling, takes the last samples, resolves what can be. */
int sampler_stop(struct sampler *s, struct err *err);
/* Names procedures in the profile: the kernel's and those of the images. */
void sampler_name_procedures(struct sampler *s);
/* Sets the run's event, unit, rate, burst and those counters that the sampler knows. */
void sampler_fill_run(struct sampler *s, struct run *r);
void sampler_close(struct sampler *s);

#endif
