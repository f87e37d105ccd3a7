/* SPDX-License-Identifier: MIT */
/*
 * The sampler: timer interrupts, and windows of run-ahead instructions from the kernel (Burrows et al., "Efficient and
 * Flexible Value Sampling", ASPLOS 2000).
 */
#ifndef ASSAY_SAMPLER_SAMPLER_H
#define ASSAY_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/broker.h"
#include "base/err.h"
#include "base/privilege.h"
#include "observe/profile.h"
#include "sampler/family.h"
#include "stream/window.h"

struct sampler_options {
	const char *event; /* "cpu-clock", "cycles"; NULL: cycles where there is a PMU */
	double rate;	   /* samples a second on each CPU that is not idle */
	unsigned burst;	   /* instructions to run ahead, 1 to RA_BURST_MAX */
	unsigned
		ring_mib; /* size of the ring buffer, a power of two; 0: derived from rate, burst and CPUs */
	unsigned code_kuops;	/* room for lifted code, thousands of micro-ops */
	unsigned neighbourhood; /* instructions that are lifted at once */
	/* children of processes that are attached to are not sampled, whether they exist already or
	 * not */
	bool no_children;
	bool command;  /* a command and its descendants are sampled: sampler_attach_command() */
	bool watch;    /* reuse times by watchpoints */
	bool branches; /* windows hold the control flow instead of values; rare windows are added */
	bool stacks;   /* call stacks are recorded (sampler/stacks.h) */
	bool slots;    /* windows with known values are passed over (sampler/slots.h) */
	bool budget;   /* windows may be passed over: sampler_thin(); not with slots */
};
extern const struct sampler_options sampler_defaults;

struct sampler;

/* Receives each sample: a window, or one with n == 0 if the sample could not run ahead or was in
 * the kernel. A result of -1 with err set ends sampler_poll. */
typedef int (*sampler_sink)(void *ctx, const struct window *w, struct err *err);

/* Loads the kernel program. Images are added to p; p and the broker, which opens the files that processes map, outlive
 * the sampler. NULL with err set. */
struct sampler *sampler_open(const struct sampler_options *o, struct profile *p,
			     const struct broker *broker, sampler_sink sink, void *ctx,
			     struct err *err);
/* The command is the child `pid`, the caller's next one that executes a program. Only with sampler_options.command. */
int sampler_attach_command(struct sampler *s, pid_t pid, struct err *err);
/* Adds the process to the family (sampler/family.h). */
int sampler_attach_process(struct sampler *s, struct family *f, pid_t pid, struct err *err);
int sampler_attach_descendants(struct sampler *s, struct family *f, struct err *err);
int sampler_attach_thread(struct sampler *s, pid_t tid, struct err *err);
int sampler_attach_all(struct sampler *s, struct err *err);
/* Samples the processes of a control group and of the groups below it, later ones included (sampler/cgroup.h). */
int sampler_attach_cgroup(struct sampler *s, const char *name, struct err *err);
/* Fills in the capabilities that the sampler still needs once it is attached; returns how many:
 * CAP_BPF on old kernels, to use its maps; CAP_PERFMON to set watchpoints. */
#define SAMPLER_NEEDS 2
size_t sampler_needs(const struct sampler *s, cap_value_t need[SAMPLER_NEEDS]);
/* Reads which files the process maps now, so that its first samples can run ahead. To be called without privileges. */
void sampler_look(struct sampler *s, pid_t pid);
int sampler_enable(struct sampler *s, struct err *err);

/* Returns a descriptor that poll() reports as readable when samples wait. */
int sampler_fd(const struct sampler *s);
/* Takes the waiting samples from the kernel, and does their urgent work at once. -1 with err set if the sink failed. */
int sampler_poll(struct sampler *s, struct err *err);
/* Passes all samples that sampler_poll() took so far to the sink. sampler_poll() calls this itself
 * once there are many. */
int sampler_observe(struct sampler *s, struct err *err);
/* Frees memory that is not needed, and room for lifted code. Called about once a second. */
int sampler_rest(struct sampler *s, struct err *err);
/* Redraws the periods; to be called about ten times a second. */
void sampler_redraw(struct sampler *s);
/* Looks at how much of a process's memory lies in large pages (sampler/large_pages.h); to be called as often. */
void sampler_look_at_pages(struct sampler *s);
/* From now on one window of N is run, drawn at random; N is at most BUDGET_MOST. Only valid with
 * sampler_options.budget. */
void sampler_thin(struct sampler *s, unsigned every);
/* Stops sampling, takes the last samples, and resolves what can be resolved. */
int sampler_stop(struct sampler *s, struct err *err);
/* Names procedures in the profile: the kernel's and the images'. */
void sampler_name_procedures(struct sampler *s);
/* Sets the run's event, unit, rate, burst and the sampler's own counters. */
void sampler_fill_run(struct sampler *s, struct run *r);
void sampler_close(struct sampler *s);

#endif
