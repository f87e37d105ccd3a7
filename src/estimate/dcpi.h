/* SPDX-License-Identifier: MIT */
/*
 * DCPI's heuristic for the frequency of one equivalence class (Anderson et al., "Continuous
 * profiling: where have all the cycles gone?", SOSP 1997).
 *
 * All instructions of a class run equally often, F times. An instruction has S samples: F times the
 * cycles that it spends at the head of the queue, which are M cycles or more. S / M is F at issue
 * points (M > 0) that do not stall, and more at others. F is the mean of a cluster of the smaller
 * ratios.
 *
 * Parameters that the paper leaves open are constants here. One rule is inferred from an example in
 * the paper, where the ratio 1636 is left out of the mean of 1482 to 1586: the instruction that
 * should issue with it has samples of its own, so the group did not issue as scheduled.
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
	double samples, least; /* S: samples; M: least cycles at the head of the issue queue */
	int cause;	       /* index of the earlier instruction that M waits for, or -1 */
	bool first;	       /* it is the first instruction of its block */
};

struct dcpi_rules {
	double cluster; /* max <= cluster * min: 1.5 in the paper */
	double part;	/* least part of the class's issue points that a cluster has */
	double stall;	/* most cycles that F may imply for a stall */
	double few;	/* samples of a class below which F is sum S / sum M */
	/* part of the issue point's samples that disqualifies it, if an instruction that issues
	 * along has as many */
	double split;
};
extern const struct dcpi_rules dcpi_default;

struct dcpi_estimate {
	double f; /* samples per cycle; times the period in cycles this is executions */
	enum confidence confidence;
	unsigned points, used; /* number of issue points, and of those averaged */
	bool few;	       /* estimated as sum S / sum M */
};

/* Estimates a class from its instructions, block by block. CONFIDENCE_NONE: there is no issue
 * point. -1 without memory. */
int dcpi_class(struct dcpi_estimate *e, const struct dcpi_insn *v, size_t n,
	       const struct dcpi_rules *rules);

#endif
