/* SPDX-License-Identifier: MIT */
/*
 * Counters of loops that often begin anew between two windows.
 *
 * Where a loop began anew in the share b of the gaps between two windows, the values that windows saw are the same if it did
 * so b times in a gap, b + 1 times, b + 2 times and so on. Which of these it was, the time tells: the more often, the faster
 * an execution was. Loops of all lengths being as frequent by octaves, a case is as likely as the part of an octave that
 * it takes, 1 / (b + k).
 */
#ifndef ASSAY_CULPRIT_TURNS_H
#define ASSAY_CULPRIT_TURNS_H

#include "estimate/parts.h"

/*
 * Adds to the evidence of parts in which nothing else counts what such counters tell. slow: by part, the logarithm of
 * the most time that an execution can take over the time that it is expected to take. -1 without memory.
 */
int turns_tell(struct parts *p, const double *slow);

#endif
