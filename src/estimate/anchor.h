/* SPDX-License-Identifier: MIT */
/*
 * The absolute scale: what turns relative frequencies into executions, one factor for each part of the program
 * (estimate/parts.h) that something is known of.
 *
 * What the program counts itself (observe/tallies.h) says exactly how often some of its instructions ran. Each
 * says what to multiply frequencies by, if those of its procedure are right, compared with the other ones'. So does
 * time: most instructions are executed in about the same number of cycles, in each procedure and program, whatever
 * the few take that are waited for; and the whole program takes what its instructions and mispredicted branches usually
 * do, unless it waits for memory. That is less certain, but there in any case, and tells which counts cannot be
 * meant: of one object out of many, of another process. The mean of all, as of logarithms, weighed by
 * how certain each is.
 *
 * A factor for each procedure, by what it counts itself or by its time, spread along calls, is worse: flow
 * knows better how procedures compare.
 */
#ifndef ASSAY_ESTIMATE_ANCHOR_H
#define ASSAY_ESTIMATE_ANCHOR_H

#include "estimate/estimate.h"

#define ANCHOR_GHZ 3.5 /* where neither a measurement nor the CPU's name tells */
/* That an instruction of a procedure takes, if most take no more: by which the scales of twelve programs (bench/workloads:
 * PROGRAMS, OTHERS) are off least, at 997 and 4000 Hz. */
#define ANCHOR_CYCLES 0.36
/* Cycles that a sample stands for. */
double anchor_cycles(const struct profile *p);
/* The clock that was measured, or that the CPU's name tells ("… @ 2.50GHz"), or ANCHOR_GHZ. run may be NULL. */
double anchor_ghz(const struct run *run);
/* Sets e's scale, and lowers confidence where times contradict; without any samples all stays as it is. -1 with err
 * set. */
int anchor_estimate(struct estimate *e, const struct estimate_source *src, struct err *err);

#endif
