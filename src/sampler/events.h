/* SPDX-License-Identifier: MIT */
/*
 * The perf events that interrupt: one for each thread and its descendants, or one for each CPU.
 *
 * One event serves user and kernel time: each event has a timer of its own, and the interrupt is the cost of sampling.
 */
#ifndef ASSAY_SAMPLER_EVENTS_H
#define ASSAY_SAMPLER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum event_kind {
	EVENT_CPU_CLOCK,
	EVENT_CYCLES,
	EVENT_FAULTS, /* a sample at each page fault that needs no input or output, instead of by a timer */
	EVENT_KIND_N,
};
extern const char *const event_name[EVENT_KIND_N];

/* A moment, in the terms that the births of processes are told in: clock ticks of 10 ms since the machine was booted,
 * and the youngest pid. */
struct event_birth {
	uint64_t ticks;
	pid_t pid;
};

struct events {
	int *fd;
	pid_t *tid;		   /* the thread that each event belongs to, or -1 - CPU */
	struct event_birth *birth; /* when the events were opened */
	size_t n, cap;
	int kind;	  /* enum event_kind */
	double rate;	  /* samples a second */
	uint64_t period;  /* mean; ns (cycles: estimated) */
	int prog;	  /* BPF program's descriptor */
	uint64_t random;  /* generator's state */
	bool no_idle;	  /* CPUs are not sampled while idle */
	bool no_children; /* events are inherited by later threads, but not by child processes */
};

/* rate in samples a second; prog: descriptor of the program that each event runs. */
void events_init(struct events *e, int kind, double rate, int prog);
/* Opens events on all threads of a process, present and future ones. All events are opened disabled. */
int events_add_process(struct events *e, pid_t pid, struct err *err);
/* True if the child, born at `ticks`, has no event, its parent has one, and the child was born before that event was
 * opened: the child has not inherited it. */
bool events_miss_child(const struct events *e, pid_t parent, pid_t child, uint64_t ticks);
/* Closes all but the first n. */
void events_keep(struct events *e, size_t n);
/* Opens an event on one thread alone. */
int events_add_thread(struct events *e, pid_t tid, struct err *err);
/* Opens events on all online CPUs: for everything that runs there, or, with the descriptor of a
 * control group's folder instead of -1, for that group's processes. */
int events_add_cpus(struct events *e, int cgroup, struct err *err);
int events_enable(struct events *e, struct err *err);
/* Draws new periods, so that sampling does not run in lockstep with a loop: uniform within 1/16 of the mean (DCPI drew
 * from 60K to 64K cycles: Anderson et al., SOSP 1997). A cpu-clock sample of these events stands for the mean period. A
 * thread that is born later inherits the period of that moment, and its samples stand for that. */
void events_redraw(struct events *e);
void events_fini(struct events *e);

#endif
