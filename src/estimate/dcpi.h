/* SPDX-License-Identifier: MIT */
/*
 * DCPI's heuristic for the frequency of one equivalence class (seed 003, section 6.1.3).
 *
 * All instructions of a class run equally often, F times. S samples of an instruction are F times what it
 * spends at the head of the queue, M cycles or more: S / M is F at issue points (M > 0) that do not stall,
 * and more at others. F is the mean of a cluster of the smaller ratios.
 *
 * What the seed leaves open is a constant here, and one rule is read off its Figure 7, where the ratio 1636
 * has no part in the mean of 1482 … 1586: the instruction that should issue with it has samples of its own, so
 * that the group did not issue as scheduled.
 */
#ifndef ASSAY_ESTIMATE_DCPI_H
#define ASSAY_ESTIMATE_DCPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum confidence {
	CONFIDENCE_NONE, /* no estimate */
	CONFIDENCE_LOW,
	CONFIDENCE_MEDIUM,
	CONFIDENCE_HIGH,
	CONFIDENCE_N,
};
extern const char *const confidence_name[CONFIDENCE_N];

struct dcpi_insn {
	double samples, least; /* S, M */
	int cause;  /* the earlier instruction that M waits for, by its place in the array, or
				  -1 */
	bool first; /* of its block */
};

struct dcpi_rules {
	double cluster; /* max <= cluster * min: 1.5 [seed] */
	double part;	/* least part of the class's issue points in a cluster */
	double stall;	/* most cycles that F may imply for a stall */
	double few;	/* samples of a class below which F is sum S / sum M */
	double split; /* samples of those that issue along, as a part of the issue point's, that spoil it */
};
extern const struct dcpi_rules dcpi_default;

struct dcpi_estimate {
	double f; /* samples per cycle: times the period in cycles it is executions */
	enum confidence confidence;
	unsigned points, used; /* issue points; those averaged */
	bool few;	       /* by sum S / sum M */
};

/* The class's instructions, block by block. CONFIDENCE_NONE: no issue point. -1 without memory. */
int dcpi_class(struct dcpi_estimate *e, const struct dcpi_insn *v, size_t n,
	       const struct dcpi_rules *rules);

#endif
