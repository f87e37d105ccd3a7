/* SPDX-License-Identifier: MIT */
/*
 * The facts about a CPU that rules need: sizes, and the costs of exceeding them. Cycles are the
 * highest that vendors' manuals and measurements give for a kind of machine, because bounds rest on
 * them. One line an item.
 */
#ifndef ASSAY_CPU_PENALTIES_H
#define ASSAY_CPU_PENALTIES_H

#define MACHINE_LINE 6	/* bits of an address within a line */
#define MACHINE_PAGE 12 /* bits of an address within a page */

struct machine_level {
	double room;	/* capacity in lines or pages */
	double penalty; /* most additional cycles of a miss */
	double likely;	/* usual additional cycles, where nothing hides them */
	double stream;	/* data: cycles of a line that is prefetched, by the usual bandwidth */
};
#define MACHINE_LEVELS 3

struct culprit_machine {
	const char *part; /* part of the CPU's name, or NULL: any */
	const char *name;
	struct machine_level data[MACHINE_LEVELS]; /* lines: L1D, L2, L3 */
	struct machine_level code[MACHINE_LEVELS]; /* L1I, L2, L3, in lines */
	struct machine_level
		/* TLBs of first and second level, in pages; page walks in a virtual machine */
		dtlb[MACHINE_LEVELS];
	struct machine_level itlb[MACHINE_LEVELS];
	double window; /* instructions in the reorder buffer */
	double misses; /* misses of the first level that are under way at a time; page walks */
	double walks;
	double retire;	   /* instructions that retire in a cycle */
	double alus;	   /* instructions on integers that are executed in a cycle */
	double mispredict; /* cycles until the correct instructions arrive, once the branch is
			    * resolved */
	/* branch targets that the predictor keeps; cycles of a target that it lacks */
	double branches, unknown;
	double decoded,
		/* instructions in the cache of decoded instructions; cycles of decoding */
		decode;
	double contended; /* cycles of a line that another core has written */
	/* cycles of a load whose forwarding fails; of one that meets an alias */
	double forward, alias;
	double divide, multiply;
	double load, vector_load; /* latency of a load that hits in L1 */
};

/* Returns the machine with that CPU name; for an unknown name, one that is slow in everything. */
const struct culprit_machine *culprit_machine(const char *cpu);

#endif
