/* SPDX-License-Identifier: MIT */
/*
 * The absolute scale: what turns relative frequencies into executions.
 *
 * An execution takes a block's least time (static schedule) or longer. So samples, in cycles, over least
 * times and relative frequencies are the scale where nothing stalls, and more elsewhere: DCPI's clusters,
 * over the whole program instead of a class. The scale is a low quantile of them, by samples.
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
/* Samples per cycle over relative frequencies; 1 if nothing can be told. */
double anchor_ratio(const struct estimate *e);

#endif
