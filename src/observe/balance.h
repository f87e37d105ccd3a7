/* SPDX-License-Identifier: MIT */
/*
 * Balance of windows that begin and end at a place.
 *
 * If windows began evenly among executed instructions, they would end evenly among executed
 * instructions. But windows begin where time is spent: where more windows end than begin, too few
 * began, as in phases that run fast. So a window's weight gets a factor m, which depends on its
 * place, such that
 *
 * m(b) began(b) = (1 - l) sum over a of m(a) windows(a, b) + l began(b)
 *
 * windows(a, b): weight of the windows that began at place a and ended at b. This is the flow of
 * estimate/walk.c in steps of a window instead of a block, so that code that runs together in a
 * window stays together. l, which is BALANCE_LEAK and more where few windows began, draws m to 1,
 * so that places between which windows hardly go are not compared.
 *
 * Places are first 4096 bytes of code, then 512 with windows weighted by the result, then 64; m is
 * the product. So the few windows of a small place are corrected by the many of the larger one
 * around it. Windows are counted as they come, and m is solved for whenever their number has grown
 * by half.
 */
#ifndef ASSAY_OBSERVE_BALANCE_H
#define ASSAY_OBSERVE_BALANCE_H

#include "observe/profile.h"

#define BALANCE_LEVELS 3   /* sizes of places */
#define BALANCE_LEAK 0.05  /* l where many windows began */
#define BALANCE_PRIOR 10.0 /* number of windows begun at a place at which l is a half */
#define BALANCE_FIRST 1000 /* number of windows before the first solution */
#define BALANCE_MOST 10.0  /* largest value of m and of 1 / m */

/* Counts a window with that other weight. *factor: m of the place where it begins. -1 without
 * memory. */
int balance_window(struct profile *p, const struct window *w, double weight, double *factor);
void balance_free(struct profile *p);

#endif
