/* SPDX-License-Identifier: MIT */
/*
 * How far the third cache level and memory are from this CPU, how long data stay in that level, and what a page walk takes,
 * measured. In a cloud, other machines share both: loads take longer than tables tell, and data that are not used for some ms are
 * gone. Page walks pass through the host's tables as well, and take what its pages make of them.
 */
#ifndef ASSAY_CPU_MEMORY_H
#define ASSAY_CPU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_memory {
	/* ns of a load that waits for the one before, from the third level and from memory */
	double near, far;
	/* ns of a line when lines are read in order, which are prefetched */
	double near_line, far_line;
	double walk; /* ns of a load whose page is in no TLB, beyond one whose page is; 0: not told */
	double refills; /* how often others fill the third level in a second; 0: they were not seen to, in CPU_MEMORY_WAIT ns */
};

#define CPU_MEMORY_WAIT 4000000 /* longest time for which data are left alone, in ns */

/*
 * Measures it beside whatever else runs, in some 15 ms and 12 MB. `second` is the size of the second level in
 * bytes. False: no memory, or the times make no sense.
 */
bool cpu_memory_measure(struct cpu_memory *to, uint64_t second);

#endif
