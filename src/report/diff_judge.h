/* SPDX-License-Identifier: MIT */
/*
 * Which of many amounts that were measured on both sides differ by more than chance: a test of each, and a limit on the part
 * of false discoveries among all of them. docs/methods/diff.md has the tests.
 */
#ifndef ASSAY_REPORT_DIFF_JUDGE_H
#define ASSAY_REPORT_DIFF_JUDGE_H

#include "report/significance.h"

/* Groups of rows, in the order in which they are shown. */
enum diff_verdict {
	DIFF_SLOWER, /* more executions, in exact recordings */
	DIFF_FASTER,
	DIFF_NEW,  /* nothing on the base's side */
	DIFF_GONE, /* nothing on the new one's */
	DIFF_SAME, /* chance could have made the difference; in exact recordings, there is none */
	DIFF_VERDICTS
};

/* The measurements of one thing: [0] on the base's side, [1] on the new one's. */
struct diff_amounts {
	double count[2]; /* samples or executions, summed over all recordings of a side */
	double mean[2];	 /* mean over the side's recordings, in units of the measure */
	double *each[2]; /* by recording; needed where the variance between runs counts */
	/* filled in by diff_judge() */
	double p;
	struct limits ratio;
	enum diff_verdict verdict;
};

struct diff_scale {
	double event[2]; /* the mean amount that one sample of a side stands for */
	size_t n[2];	 /* recordings */
	bool exact;	 /* executions, which were counted */
	bool between; /* three or more recordings a side: the variance between runs was measured */
};

#define DIFF_FALSE 0.05	   /* part of the discoveries that may be false */
#define DIFF_RUNS_LEAST 3u /* recordings a side whose variance counts */

/* Judges each of the n amounts. -1 without memory. *least: the p-value that the next discovery may have; NULL: not asked for. */
int diff_judge(struct diff_amounts **a, size_t n, const struct diff_scale *s, double *least);
/*
 * The smallest ratio above 1 that is a discovery, of something with so many samples on the base's side: as often as not such a
 * change is called slower. INFINITY: none is. For one recording a side, or where the variance between runs does not count.
 */
double diff_smallest_ratio(const struct diff_scale *s, double count, double p);

#endif
