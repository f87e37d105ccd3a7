/* SPDX-License-Identifier: MIT */
/* Clocks: CLOCK_MONOTONIC for durations, CLOCK_PROCESS_CPUTIME_ID for the process's own cost. */
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The clock's time in nanoseconds. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
