/* SPDX-License-Identifier: MIT */
/*
 * Differences between recordings: for each image, procedure or line, the time (or executions) on one side, the base,
 * and on the other side, the new one; and whether chance could have made the difference.
 */
#ifndef ASSAY_REPORT_DIFF_H
#define ASSAY_REPORT_DIFF_H

#include "report/diff_judge.h"
#include "report/reading.h"

struct diff_options {
	const char *by;	     /* "image", "procedure", "line"; NULL: procedure */
	const char *measure; /* "time", "share"; NULL: time where programs ended by themselves */
	const char *image;   /* shell pattern, or NULL */
	unsigned n;	     /* rows of each group; 0: all */
};

/* One side of the comparison: open recordings of the same work. */
struct diff_side {
	struct reading *reading;
	size_t n;
};

struct diff_rows;

/* Compares what the options ask for. rows is to be freed in any case. -1 with err set: recordings that do not compare,
 * nothing matches, no memory. */
int diff_compare(struct diff_rows *rows, struct diff_side side[2], const struct diff_options *o,
		 struct err *err);
/* Returns an amount in the unit that is named: time is in seconds. */
double diff_amount(const struct diff_rows *rows, double amount);
const char *diff_unit_name(const struct diff_rows *rows);
const char *diff_verdict_name(const struct diff_rows *rows, enum diff_verdict v);
/* Prints the comparison, by the emit of the first recording of the base. -1 with err set. */
int diff_print(struct diff_side side[2], const struct diff_options *o, struct err *err);

#endif
