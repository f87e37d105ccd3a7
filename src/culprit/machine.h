/* SPDX-License-Identifier: MIT */
/*
 * What rules need to know of a CPU: sizes, and what is lost when they do not suffice. Cycles are the most that
 * vendors' manuals and measurements tell of a kind of machine: bounds rest on them. One line an item.
 */
#ifndef ASSAY_CULPRIT_MACHINE_H
#define ASSAY_CULPRIT_MACHINE_H

#define MACHINE_LINE 6	/* bits of an address within a line */
#define MACHINE_PAGE 12 /* within a page */

struct machine_level {
	double room;	/* lines, pages */
	double penalty; /* more cycles than where there is room, at most */
	double likely;	/* … that are mostly seen: the rest passes while others are done */
};
#define MACHINE_LEVELS 3

struct culprit_machine {
	const char *part; /* of a CPU's name, or NULL: any */
	const char *name;
	struct machine_level data[MACHINE_LEVELS]; /* lines: L1D, L2, L3 */
	struct machine_level code[MACHINE_LEVELS]; /* L1I, L2, L3 */
	struct machine_level
		dtlb[MACHINE_LEVELS]; /* pages: first, second; walks in a virtual machine */
	struct machine_level itlb[MACHINE_LEVELS];
	double retire;		  /* instructions that retire in a cycle */
	double mispredict;	  /* cycles until the right instructions come */
	double branches, unknown; /* targets that are remembered; cycles of one that is not */
	double decoded,
		decode;	  /* instructions whose decoding is remembered; cycles of one that is not */
	double contended; /* a line that another core has written */
	double forward, alias; /* a load whose forwarding fails; that meets an alias */
	double divide, multiply;
	double load, vector_load; /* latency, in L1 */
};

/* The machine that the CPU's name tells; one that is slow in everything, where it is not known. */
const struct culprit_machine *culprit_machine(const char *cpu);

#endif
