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
 * S, of the times that u holds, at so many touches a ns. bend: of what is between near and far; 1 is a power of time, less
 * falls at once, more at last.
 *
 *   … near    Kaplan-Meier of the windows' touches, as long as 2 % of them are seen
 *   … soon    watchpoints that were hit before REUSES_SOON_NS: how many is known, when is not; by the logarithm of time
 *   … far     Kaplan-Meier of the others
 *
 * -1: no windows, or no memory.
 */
int curve_of(struct statstack *s, const struct reuses *u, double touches_ns, double bend);

#endif
