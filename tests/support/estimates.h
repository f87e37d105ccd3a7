/* SPDX-License-Identifier: MIT */
/*
 * A program of two procedures for tests of estimates. The caller's block 2 is a loop that runs ten times, then control
 * goes to block 3 (one time in four) or 4, then to 5. Block 3 calls the other procedure, which is the block 2 of its own
 * graph. Each block is one instruction. Relative to each other they run so often:
 *
 *   caller  entry 100, 2: 1000, 3: 25, 4: 75, 5: 100     callee  entry 25, 2: 25     together 1225 instructions
 */
#ifndef ASSAY_TESTS_ESTIMATES_H
#define ASSAY_TESTS_ESTIMATES_H

#include "estimate/estimate_priv.h"
#include "estimate/parts.h"

#define CALLER 0
#define CALLEE 1
#define CALLER_BLOCKS 6
#define CALLEE_BLOCKS 3
#define PROGRAM_INSNS 1225.0

/* The program as windows saw it: a million windows saw each instruction. Block 3 and what it calls were observed `slow` times
 * as often as they should have been. estimate_fini() frees it. */
struct estimate estimates_program(double slow);
/* The estimate of a block. */
double estimates_f(const struct estimate *e, int proc, uint32_t b);
/* Whether a differs from b by at most that part of b. */
bool estimates_near(double a, double b, double part);

/*
 * The program with a recording. Each block has the samples of ESTIMATES_RUNS executions a frequency, each of them
 * ESTIMATES_CYCLES long.
 *
 * Most instructions of most programs take at most 0.36 cycles, and all take 0.18 on average, without mispredictions
 * (docs/methods/frequencies.md). A program of which both holds is usual here: each instruction takes 0.36 cycles, and
 * mispredictions of the loop's branch take half of the time. Its scale is ESTIMATES_RUNS, whichever of both is believed.
 */
#define ESTIMATES_RUNS 2000.0
#define ESTIMATES_CYCLES 0.36
#define ESTIMATES_SAMPLE 45.0 /* cycles that a sample stands for */
#define ESTIMATES_CALLEE_AT 0x1000
#define ESTIMATES_CALLER_AT 0x2000
struct estimates_sampled {
	struct estimate e;
	struct profile p;
	struct site site[CALLER_BLOCKS + CALLEE_BLOCKS];
};
/* Without `joined`, windows never saw the call. estimates_drop() frees what it returns. */
struct estimates_sampled *estimates_sampled(bool joined);
void estimates_drop(struct estimates_sampled *m);
/* Gives a block the samples of executions that take so many cycles. */
void estimates_sample(struct estimates_sampled *m, int proc, uint32_t b, double cycles);
/* All of the recording took that many times as long. */
void estimates_take(struct estimates_sampled *m, double times);
/* Mispredictions of the loop's branch take 0.18 cycles for each instruction of the program. */
void estimates_mispredict(struct estimates_sampled *m);
/* Anchors the estimate. */
void estimates_anchor(struct estimates_sampled *m);

#endif
