/* SPDX-License-Identifier: MIT */
/*
 * The rows of a difference: what has the same name on both sides is one row. Counts and times are kept by recording.
 */
#ifndef ASSAY_REPORT_DIFF_ROWS_H
#define ASSAY_REPORT_DIFF_ROWS_H

#include <uthash.h>

#include "report/diff.h"
#include "report/diff_judge.h"

enum diff_by {
	DIFF_IMAGE,
	DIFF_PROCEDURE,
	DIFF_LINE
};

enum diff_measure {
	DIFF_TIME,	/* ns of a run */
	DIFF_SHARE,	/* share of the side's time */
	DIFF_EXECUTIONS /* executions of a run */
};

struct diff_row {
	char *key;
	char *image, *procedure, *line; /* NULL where rows are not by those */
	struct diff_amounts a;
	UT_hash_handle hh;
};

struct diff_rows {
	struct diff_row *by_key, **row; /* row: sorted, once they were judged */
	size_t n, of[DIFF_VERDICTS];
	enum diff_by by;
	enum diff_measure measure;
	bool between; /* three or more recordings a side: the variance between runs was measured */
	bool unmatched; /* images of other builds had to be left apart, since they are stripped */
	double total[2];
	struct limits total_ratio; /* NAN: not known */
	double least;		   /* the p-value that one more difference may have */
	double *total_each[2];
};

/* -1 without memory. rows is to be freed in any case. */
int diff_rows_collect(struct diff_rows *rows, const struct diff_side side[2], const char *image);
/* Decides what differs, and sorts. -1 without memory. */
int diff_rows_judge(struct diff_rows *rows, const struct diff_side side[2]);
/* Judges the amounts of these rows, and of parts of them. */
void diff_rows_scale(const struct diff_rows *rows, const struct diff_side side[2],
		     struct diff_scale *scale);
void diff_rows_fini(struct diff_rows *rows);

#endif
