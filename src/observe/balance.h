/* SPDX-License-Identifier: MIT */
/*
 * Windows that begin where others end.
 *
 * Where control is after so many instructions of windows that began evenly among executed instructions, it is evenly among
 * executed instructions again. Windows begin where time is spent: where more end than begin, begun and ended windows weighed
 * alike, too few began, as in phases that run fast. So windows weigh m(their place) besides, such that
 *
 *   m(b) began(b) = (1 - l) sum over a of m(a) windows(a, b) + l began(b)
 *
 * windows(a, b): that began at place a and ended at b, as their starts and paces weigh them. It is the flow of estimate/walk.c
 * in steps of a window, not of a block, so that what goes together in a window stays together. l, BALANCE_LEAK and more where few
 * began, draws m to 1: places that windows hardly go between are not compared.
 *
 * Places are 4096 bytes of code first; then, of windows weighed so, 512; then 64: m is the product. What a few windows say of
 * a small place is drawn to what many say of the larger one around it. Counted as windows come, and
 * solved for m as there are half as many again.
 */
#ifndef ASSAY_OBSERVE_BALANCE_H
#define ASSAY_OBSERVE_BALANCE_H

#include "observe/profile.h"

#define BALANCE_LEVELS 3   /* sizes of places */
#define BALANCE_LEAK 0.05  /* l where many began */
#define BALANCE_PRIOR 10.0 /* windows begun at a place that make l half */
#define BALANCE_FIRST 1000 /* windows until it is solved first */
#define BALANCE_MOST 10.0  /* that m, or 1 / m, is at most */

/* A window that weighs so much otherwise is counted. *factor: m of where it begins. -1 without memory. */
int balance_window(struct profile *p, const struct window *w, double weight, double *factor);
void balance_free(struct profile *p);

#endif
