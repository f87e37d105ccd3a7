/* SPDX-License-Identifier: MIT */
/*
 * The absolute scale: what turns relative frequencies into executions, procedure by procedure.
 *
 * What the program counts itself (observe/tallies.h) says exactly how often some of its instructions ran. Each
 * says what to multiply the frequencies of its procedure by, and, as far as windows saw both, those of procedures
 * that call it or that it calls: what is known is spread along calls, so that logarithms of factors differ little
 * where many windows went over, in the sense of least squares. A procedure's time says little: that
 * it took a usual number of cycles for each instruction. Where nothing is counted that is all there is.
 */
#ifndef ASSAY_ESTIMATE_ANCHOR_H
#define ASSAY_ESTIMATE_ANCHOR_H

#include "estimate/estimate.h"

#define ANCHOR_GHZ 3.0 /* of a CPU whose name does not tell */
#define ANCHOR_QUANTILE 0.05
#define ANCHOR_SAMPLES 50 /* of a block, at least */
/* Cycles that a sample stands for. */
double anchor_cycles(const struct profile *p);
/* The clock that a CPU's name tells ("… @ 2.50GHz"), or ANCHOR_GHZ. */
double anchor_ghz(const char *cpu);
/* Makes executions of frequencies: of blocks and edges, but for one scale. -1 with err set. */
int anchor_estimate(struct estimate *e, const struct profile *p, struct err *err);

#endif
