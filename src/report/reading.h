/* SPDX-License-Identifier: MIT */
/*
 * The common beginning of every reading: the recording is read and sorted, the output opened, and a
 * heading says what was recorded, how, and what is missing.
 */
#ifndef ASSAY_REPORT_READING_H
#define ASSAY_REPORT_READING_H

#include "base/digest.h"
#include "estimate/estimate.h"
#include "query/binary.h"
#include "report/emit.h"
#include "query/view.h"

struct counts;

struct reading {
	const char *path;
	const char *caller;	   /* struct reading_options */
	char content[DIGEST_TEXT]; /* digest of the recording, for results derived from it */
	/* method of estimating executions of a sampled recording: the default, unless the caller
	 * sets it */
	enum estimate_method method;
	struct counts *counts; /* with ESTIMATE_COUNTED, else NULL; owned by the caller */
	struct profile profile;
	struct binaries binaries;
	struct view view;
	struct emit emit;
};

struct reading_options {
	const char *verb, *input;
	bool json, wide;
	bool explain;	/* explain columns and marks at the end */
	bool empty_too; /* accept recordings without any sample */
	/* restricts the reading to what this procedure calls (report/by_caller.h); or NULL */
	const char *caller;
	binary_warn warn; /* as in struct binaries */
};

/* Returns -1 with err set; ERR_EMPTY if there is no sample. */
int reading_open(struct reading *r, const struct reading_options *o, struct err *err);
/* complete: prints the JSON; otherwise the reading was abandoned. */
void reading_close(struct reading *r, struct err *err);

/* Prints two or three lines of text, or sets "recording" in JSON. */
void reading_heading(struct reading *r);
/* The first run's command, and the number of further runs. */
const char *reading_command(const struct reading *r, char *buf, size_t n);
uint64_t reading_lost(const struct run_counters *n);
/* Cost of the recorder and of running ahead during the program's run, as a share of its CPU
 * time; NAN if not known. */
double reading_cost(const struct run_counters *n);
/* Writes "cost 3.1 %, start and end 62 ms"; "" if not known. */
char *reading_cost_text(const struct run_counters *n, char *buf, size_t size);
/* The share of the program's CPU time without samples, if it is larger than chance and rounding
 * explain. NAN otherwise. */
double reading_missed(const struct run_counters *n);
/* Executed instructions; unknown if a run did not count them (working sets by accesses). */
struct cell reading_executions(const struct reading *r);
/* False if the recorder of any run was killed. */
bool reading_finished(const struct reading *r);
#define READING_UNFINISHED "the recorder was killed or could not write" /* if it is not */

#endif
