/* SPDX-License-Identifier: MIT */
/*
 * The errors of samples, judged by all intervals of the recording. The whole run's vector of
 * blocks, and the rates that follow from it, are estimated from the samples' intervals alone and
 * compared with the truth.
 *
 * Systematic sampling with the same number of evenly spaced intervals is judged beside the samples
 * of clusters: Wunderlich, Wenisch, Falsafi, Hoe, "SMARTS: accelerating microarchitecture
 * simulation via rigorous statistical sampling", ISCA 2003. Its errors are taken over every
 * possible starting interval. The number of intervals needed for a bound follows from the
 * coefficient of variation.
 */
#ifndef ASSAY_PHASE_JUDGE_H
#define ASSAY_PHASE_JUDGE_H

#include "observe/profile.h"
#include "phase/clusters.h"

/* Events per 1000 instructions that can be computed from the executed blocks. */
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

#define JUDGE_Z 1.96 /* standard deviations of a 95 % interval */
#define JUDGE_BOUND 0.03

struct judged {
	double truth;	   /* per 1000 instructions */
	double variation;  /* coefficient of variation over intervals */
	double targeted;   /* relative error */
	double systematic; /* root mean square of relative errors over starting intervals */
	double bound;	   /* half of the 95 % interval of systematic sampling, relative */
	double wanted;	   /* intervals that are needed for a bound of JUDGE_BOUND */
};

struct judgement {
	size_t samples, spaced; /* number of intervals that each method uses */
	double targeted; /* share of instructions that the estimated vector of blocks has in the wrong blocks */
	double systematic; /* the same for systematic sampling, the mean over starting intervals */
	struct judged of[JUDGE_QUANTITY_N];
};

/* `spaced`: intervals of systematic sampling; 0: as many as there are clusters. -1 with err set: no memory. */
int judge(struct judgement *j, const struct profile *p, const struct phases *ph,
	  const struct clusters *c, size_t spaced, struct err *err);

#endif
