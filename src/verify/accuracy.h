/* SPDX-License-Identifier: MIT */
/*
 * Sampled recordings compared with an exact recording of the same run. Everything is weighted by the executions of the
 * exact recording:
 *
 *   values      pairs (site, operand, value) of the exact lists, each weighted by its occurrences, so that each
 *               execution counts once. A value that is not in the sampled list is estimated at 0; a value that never
 *               occurred has no weight, but its bound is checked.
 *   directions  conditional branches: P(taken)
 *   targets     indirect jumps and calls: the overlap of the two distributions of targets
 *   coverage    sites and executions that windows saw
 *
 * An error has two parts, rms^2 = chance^2 + beyond^2 (or beyond = 0). `chance` is the error of as many independent
 * observations (binomial, of the true share). `beyond` is the rest: windows begin where time is spent, which weights
 * correct in part (`raw` is without weights); observations of one window are not independent; a list may be too
 * short, or a value misread.
 *
 * Some values differ from run to run: keys of random hashes, values of freed memory. A second exact recording tells them:
 * where both exact recordings surely differ by more than ACCURACY_AGREE, the value counts in `differ` alone.
 *
 * Run-time addresses differ between runs: operands whose hot values are addresses are left out unless requested, and
 * counted. Only ELF images are compared, because other sites have run-time addresses.
 */
#ifndef ASSAY_VERIFY_ACCURACY_H
#define ASSAY_VERIFY_ACCURACY_H

#include "report/reading.h"
#include "query/share.h"

#define ACCURACY_HOT 0.05 /* share of a site's executions from which on a value is hot */
#define ACCURACY_SHOWN \
	0.01 /* the bound of a smaller estimate is not checked, unless it is the hottest value's */
#define ACCURACY_AGREE 0.01   /* difference of shares that counts as agreement of two exact runs */
#define ACCURACY_CERTAIN 0.01 /* a true share with wider bounds is not compared */

enum accuracy_kind {
	ACCURACY_ALL,
	ACCURACY_RESULT,
	ACCURACY_LOAD,
	ACCURACY_STORE,
	ACCURACY_ADDRESS,
	ACCURACY_TARGET,
	ACCURACY_RETURN,
	ACCURACY_ARGUMENT,
	ACCURACY_KIND_N,
};
extern const char *const accuracy_kind_name[ACCURACY_KIND_N];

/* Sums over weights, and the measures that follow; NAN if nothing was compared. */
struct accuracy_error {
	double weight, square, variance;
	double rms, chance, beyond; /* shares, 0 to 1 */
};

/* Executions at comparable sites; those at sites with enough observations. */
struct accuracy_executions {
	double ran, compared;
};

struct accuracy_values {
	struct accuracy_executions executions;
	uint64_t operands, pairs;
	struct accuracy_error error, raw; /* error of estimates, and of plain counts */
	uint64_t hot, found;		  /* truly hot values */
	double hot_ran, found_ran;
	uint64_t bounds, held; /* bounds: share +- bound, as reported; those that held */
	uint64_t low_held;     /* lower limits that held */
};

#define ACCURACY_WITHIN 3 /* limits: 5, 10, 15 points */
extern const double accuracy_within[ACCURACY_WITHIN];

struct accuracy_directions {
	struct accuracy_executions executions;
	uint64_t sites;
	struct accuracy_error error, raw;
	double within[ACCURACY_WITHIN], common; /* executions */
	double close; /* executions of outcomes whose estimate is within a tenth of the truth */
	uint64_t bounds, held;
};

struct accuracy_targets {
	struct accuracy_executions executions;
	uint64_t sites;
	double common;
};

struct accuracy_coverage {
	uint64_t sites, seen; /* sites that ran; those that windows saw */
	double ran, seen_ran; /* executions */
	double enough_ran;    /* at sites with `min` observations */
	/* overlap of executions and observations, as shares over sites: 0 to 1 */
	double common;
	uint64_t strays; /* sites that windows saw although they never ran */
	double observed, strays_observed;
	double elsewhere; /* executions outside of ELF images, which are not compared */
};

/* Differences between two exact runs. */
struct accuracy_differ {
	uint64_t pairs;			      /* pairs of operand and value, or branches */
	struct accuracy_error error, between; /* error of estimates, and of the other exact run */
};

struct accuracy_left_out {
	uint64_t addresses; /* operands left out because their values are addresses */
	double addresses_ran;
	/* hot values that are addresses; those of them that were found */
	uint64_t hot_addresses, agree;
	/* arguments of procedures that are also entered by jumps, tail calls and loops: windows
	 * record them at each entry, an exact recording only at calls */
	uint64_t jumped;
	double jumped_ran;
	double uncertain_ran; /* executions with values whose true share is not known closely */
};

/* An operand of a site, with its worst value; or a branch. */
struct accuracy_site {
	size_t at;   /* index of the site in the exact view */
	int operand; /* -1: direction */
	uint64_t value, observations;
	struct share sampled;
	double exact, chance;
	double executions, square; /* sum of weight x error^2 over the values */
	/* the site's share of observations over its share of executions */
	double seen;
};

struct accuracy_sites {
	struct accuracy_site *v; /* sorted by square, greatest first */
	size_t n, cap;
};

struct accuracy {
	struct accuracy_coverage coverage;
	struct accuracy_values values[ACCURACY_KIND_N];
	struct accuracy_directions directions;
	struct accuracy_targets targets;
	struct accuracy_differ differ_values, differ_directions;
	struct accuracy_left_out left_out;
	struct accuracy_sites worst_values, worst_directions;
};

struct accuracy_options {
	unsigned min; /* observations that a site needs for errors */
	/* observations that an instruction needs before its hot values and bounds are judged */
	unsigned min_hot;
	bool all;    /* compare addresses, too */
	bool common; /* compare only sites that have `min` observations in every recording */
};

/*
 * Measures sampled[i] into a[i]. again: another exact recording of the same run, or NULL. -1 with
 * err set: images differ (named), a recording has no site in common with the exact one (ERR_EMPTY),
 * no memory.
 */
int accuracy_measure(struct accuracy *a, const struct reading *sampled, size_t n,
		     const struct reading *exact, const struct reading *again,
		     const struct accuracy_options *o, struct err *err);
void accuracy_fini(struct accuracy *a);

#endif
