/* SPDX-License-Identifier: MIT */
/*
 * How far samples are off, by what the recording knows of all intervals: from the samples' intervals alone the whole
 * run's vector of blocks is estimated, and what follows from it, and held against the truth.
 *
 * Beside the samples of clusters stands systematic sampling with as many intervals, evenly spaced: Wunderlich, Wenisch,
 * Falsafi, Hoe, "SMARTS: accelerating microarchitecture simulation via rigorous statistical sampling", ISCA 2003. Its errors
 * are those of every possible beginning. How many intervals a bound takes follows from the coefficient of variation.
 */
#ifndef ASSAY_PHASE_JUDGE_H
#define ASSAY_PHASE_JUDGE_H

#include "observe/profile.h"
#include "phase/clusters.h"

/* Events per 1000 instructions that follow from which blocks ran. */
#define JUDGE_QUANTITIES(X) \
	X(BRANCHES, "branches", "conditional branches") \
	X(TAKEN, "taken", \
	  "taken branches, by the mean of each branch over the run, jumps, calls, returns") \
	X(CALLS, "calls", "calls") \
	X(LOADS, "loads", "instructions that load") \
	X(STORES, "stores", "instructions that store")
enum judge_quantity {
#define X(id, key, what) JUDGE_##id,
	JUDGE_QUANTITIES(X)
#undef X
	JUDGE_QUANTITY_N,
};
extern const char *const judge_quantity_key[JUDGE_QUANTITY_N];
extern const char *const judge_quantity_what[JUDGE_QUANTITY_N];

#define JUDGE_Z 1.96 /* 95 % */
#define JUDGE_BOUND 0.03

struct judged {
	double truth;	   /* per 1000 instructions */
	double variation;  /* coefficient of variation over intervals */
	double targeted;   /* relative error */
	double systematic; /* root mean square of relative errors over beginnings */
	double bound;	   /* half of the 95 % interval of systematic sampling, relative */
	double wanted;	   /* intervals that a bound of JUDGE_BOUND takes */
};

struct judgement {
	size_t samples, spaced; /* intervals of each of the two */
	double targeted; /* share of instructions that the estimated vector of blocks has in the wrong blocks */
	double systematic; /* likewise, mean over beginnings */
	struct judged of[JUDGE_QUANTITY_N];
};

/* `spaced`: intervals of systematic sampling; 0: as many as there are clusters. -1 with err set: no memory. */
int judge(struct judgement *j, const struct profile *p, const struct phases *ph,
	  const struct clusters *c, size_t spaced, struct err *err);

#endif
