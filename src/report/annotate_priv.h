/* SPDX-License-Identifier: MIT */
/* A procedure's listing while it is printed, and its parts. */
#ifndef ASSAY_REPORT_ANNOTATE_PRIV_H
#define ASSAY_REPORT_ANNOTATE_PRIV_H

#include "query/listing.h"
#include "query/source.h"
#include "report/annotate.h"
#include "report/why.h"

#define ANNOTATE_INSN 29   /* usual columns of the instruction */
#define ANNOTATE_NARROW 22 /* columns of the instruction beside estimates */
#define ANNOTATE_BELOW 4   /* indentation of notes below the instruction */
#define ANNOTATE_WIDE 4000 /* columns of a line that is not cut */

enum {
	COLUMN_SHARE,
	COLUMN_SAMPLES,
	COLUMN_RUNS,
	COLUMN_CPI,
	COLUMN_ADDRESS,
	COLUMN_INSN,
	COLUMN_BOUND,
	COLUMN_OBSERVATIONS,
	COLUMN_LINE,
	COLUMN_TAKEN,
	COLUMN_OPERANDS,
	COLUMN_ESTIMATED,
	COLUMN_CONFIDENCE,
	COLUMN_CYCLES,
	COLUMN_NS,
	COLUMN_STATIC,
	COLUMN_STALL,
	COLUMN_MISSES,
	COLUMN_SIMULATED,
	COLUMN_N
};

struct row {
	uint64_t addr;
	const struct site *site;	 /* NULL: never observed */
	const struct listing_insn *code; /* NULL: the image's file is missing */
	bool shown;
};

struct annotate {
	struct reading *r;
	const struct annotate_options *o;
	const struct view_proc *proc;
	/* image of the procedure; NULL: its file is missing */
	struct image *im;
	const struct why *why;			/* NULL: an exact recording */
	const struct culprit_program_proc *sum; /* sum of this procedure, or NULL: not estimated */
	struct listing listing;
	bool unread[6]; /* the procedure does not read the argument */
	struct row *row;
	size_t n;
	struct column column[COLUMN_N];
	int beside, below; /* columns for notes beside and below an instruction */
	struct source source;
	const char *file; /* the source line that was printed last */
	int line;
	unsigned hidden_operands;
};

static inline int annotate_width(const struct annotate *a)
{
	return a->r->emit.wide ? ANNOTATE_WIDE : a->r->emit.width;
}

/* The row's part of the procedure's time. */
double annotate_share(const struct annotate *a, const struct row *row);

/* Prints a row: the first note beside the instruction if it fits, the others below, several to a
 * line. cell: the row's other columns. */
void annotate_row_text(struct annotate *a, const struct row *row, struct cell *cell);
void annotate_row_json(struct annotate *a, const struct row *row, struct cell *cell);

/* The row's estimates, or NULL. */
const struct culprit_insn_time *annotate_time(const struct annotate *a, const struct row *row);
void annotate_estimates(struct annotate *a, const struct culprit_insn_time *t, struct cell *cell,
			char runs[16], char cpi[24]);
/* JSON of the time of an instruction that was executed. */
void annotate_stall_cells(const struct culprit_insn_time *t, struct cell *cell);
/* Prints, above an instruction, how long it stalled and what may have caused that. */
void annotate_stall(struct annotate *a, const struct row *row, const struct culprit_insn_time *t);
/* Prints the composition of the procedure's time. */
void annotate_why(struct annotate *a);

void annotate_title(struct annotate *a);
/* Prints that the rows [from, to) are left out. */
void annotate_hidden(struct annotate *a, size_t from, size_t to);
void annotate_footer(struct annotate *a, size_t hidden);

#endif
