/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Invariants: conditions that hold unless Assay itself is wrong, whatever its input is. They are checked in the builds with
 * sanitizers (SAN=1, and the fuzzers), so they may cost time; in the kernel nothing is left of them.
 */
#ifndef ASSAY_BASE_INVARIANT_H
#define ASSAY_BASE_INVARIANT_H

#ifdef ASSAY_CHECKS
#include <assert.h>
#define invariant(holds) assert(holds)
#else
#define invariant(holds) \
	((void)sizeof(!(holds))) /* The condition is compiled, but not evaluated. */
#endif

#endif
