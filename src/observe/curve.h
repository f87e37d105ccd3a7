/* SPDX-License-Identifier: MIT */
/*
 * Converts sampled reuse times (observe/reuses.h) to StatStack's S: near times, in touches, are
 * followed by far times, in ns.
 */
#ifndef ASSAY_OBSERVE_CURVE_H
#define ASSAY_OBSERVE_CURVE_H

#include "model/statstack.h"
#include "observe/reuses.h"

/* dst += src, with each observation weighted by the factor `by`; key and regions are not
 * changed. */
void curve_add(struct reuses *dst, const struct reuses *src, double by);
/* dst -= src, where src is a part of dst; negative results, as from damaged recordings, become
 * 0. */
void curve_remove(struct reuses *dst, const struct reuses *src);
/*
 * Computes S from the times in u, at that many touches a ns:
 *
 *   near    Kaplan-Meier estimate of the windows' touches, as long as 2 % of them are observed
 *   soon    watchpoints that were hit before REUSES_SOON_NS: only their number is known; spread by the logarithm of time
 *   far     Kaplan-Meier estimate of the other watchpoints
 *
 * bend: the shape of S between near and far; 1 is a power of time, with less S falls early, with more late. Returns -1
 * without windows or memory.
 */
int curve_of(struct statstack *s, const struct reuses *u, double touches_ns, double bend);

#endif
