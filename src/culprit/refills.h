/* SPDX-License-Identifier: MIT */
/*
 * What others leave of the last cache level: in a cloud, the programs of other machines fill it several times in a hundredth of
 * a second, and a line stays there only if it is used again sooner. The recorder has measured how often (cpu/memory.h).
 */
#ifndef ASSAY_CULPRIT_REFILLS_H
#define ASSAY_CULPRIT_REFILLS_H

#include "cpu/penalties.h"
#include "estimate/estimate.h"

/* Puts what was measured in the place of usual costs. False: nothing was measured, and *m is that of the table. */
bool refills_machine(struct culprit_machine *m, const char *cpu, const struct profile *p);
/*
 * How often the last level is filled while a procedure runs, by the procedure's number in e: a procedure runs from its first
 * sample to its last, but for pauses. Without call stacks, which know when samples were taken, each runs all the time.
 * *v is to be freed, and NULL if others do not fill the level. -1 without memory.
 */
int refills_find(double **v, const struct estimate *e, const struct profile *p);
/* The probability that a line with that many bursts of uses is lost between two of them. steady: these come at equal
 * distances. */
double refills_lost(double bursts, double refills, bool steady);

#endif
