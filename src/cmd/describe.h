/* SPDX-License-Identifier: MIT */
/* The description that every kind of recording has: source, command, machine. */
#ifndef ASSAY_CMD_DESCRIBE_H
#define ASSAY_CMD_DESCRIBE_H

#include <stdint.h>
#include <sys/resource.h>

#include "cmd/session.h"
#include "observe/profile.h"

uint64_t describe_usage_ns(const struct rusage *u); /* user and system time */
uint64_t describe_clock(void);			    /* Hz, or 0 where the CPU is not a real one */
/* Measures how far caches and memory are from the run's CPU. */
void describe_memory(struct run *r);
/* Adds the run: its source, command, machine. -1 without memory. */
int describe_run(struct profile *p, const char *source, const struct session_options *o,
		 struct err *err);

#endif
