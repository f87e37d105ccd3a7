/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Lanes: independent runs of the interpreter, side by side, as user space hands them to the kernel
 * build.
 */
#ifndef ASSAY_TESTS_LANE_H
#define ASSAY_TESTS_LANE_H

#include "runahead/state.h"

#define LANES 64
#define LANE_UOPS 256 /* micro-ops of lane n: from 1 + n * LANE_UOPS on */
#define LANE_CODE 256 /* bytes of code that a lane may be in, aligned to as many */
#define LANE_LINE_BITS 10

/* ra.key[0]: start of the lane's code, and in its low 8 bits its image; ra.key[1]: bias. */
struct lane {
	uint64_t ip, rflags;
	uint32_t burst;
	uint32_t pad;
	struct ra_state ra;
};

/* The argument of the program. */
struct lane_range {
	uint64_t first, n;
};

#endif
