/* SPDX-License-Identifier: MIT */
/*
 * Recurrences: the cycles in which the results of one execution of a loop let the next one begin. A loop cannot take less,
 * however wide the core is.
 *
 * Cores rename the register that a move copies to, so that the move takes no time in a chain. Some of llvm-mca's models count a
 * cycle for it, and some multiply as an older core does (cpu/models.h).
 */
#ifndef ASSAY_ESTIMATE_RECUR_H
#define ASSAY_ESTIMATE_RECUR_H

#include "cpu/models.h"
#include "estimate/schedule.h"
#include "x86/insn.h"

/* The cycles of the longest chain through n instructions from one execution to the next, by their latencies. The stack pointer
 * is no part of it. */
double recur_cycles(const struct insn *in, const uint8_t *latency, unsigned n);
/* Shortens the schedule of a loop that waits for a chain by what moves and products in it take less than modelled. b: modelled,
 * with at most SCHEDULE_BLOCK_MAX instructions. */
void recur_shorten(struct schedule_block *b, const struct cpu_model *m);

#endif
