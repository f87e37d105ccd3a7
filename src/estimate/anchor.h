/* SPDX-License-Identifier: MIT */
/*
 * The absolute scale turns relative frequencies into executions: one factor for each part of the
 * program (estimate/parts.h) that has evidence.
 *
 * Counters of the program itself (observe/tallies.h) tell exactly how often some of its
 * instructions ran. Each implies a factor, if the frequencies of its procedure are right relative
 * to those of other procedures. Time implies a factor as well: most instructions take about the
 * same number of cycles in each procedure and program, however long the few take that are waited
 * for; and the whole program takes what its instructions and mispredicted branches usually take,
 * unless it waits for memory. Time is less certain, but always available, and it tells which
 * counters count something else: one object out of many, or another process. The result is the mean
 * of the logarithms of all factors, weighted by their certainty.
 *
 * A factor for each procedure, from its own counters or its time, spread along calls, estimates
 * worse: flow compares procedures better.
 */
#ifndef ASSAY_ESTIMATE_ANCHOR_H
#define ASSAY_ESTIMATE_ANCHOR_H

#include "estimate/estimate.h"

#define ANCHOR_GHZ 3.5 /* GHz, where neither a measurement nor the CPU's name tells the clock */
/* Cycles of an instruction that most instructions of a procedure do not exceed. The value
 * minimises the error of the scales of twelve programs (bench/workloads: PROGRAMS, OTHERS) at
 * 997 and 4000 Hz. */
#define ANCHOR_CYCLES 0.36
/* Cycles that a sample stands for. */
double anchor_cycles(const struct profile *p);
/* The clock that was measured, or that the CPU's name tells (as in "@ 2.50GHz"), or ANCHOR_GHZ.
 * run may be NULL. */
double anchor_ghz(const struct run *run);
/* Sets e's scale, and lowers confidence where times contradict it; without any samples nothing
 * changes. -1 with err set. */
int anchor_estimate(struct estimate *e, const struct estimate_source *src, struct err *err);

#endif
