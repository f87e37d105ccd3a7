/* SPDX-License-Identifier: MIT */
/*
 * What every reading begins with: the recording read and put in order, the way out opened, and a heading
 * that says what was recorded, how, and what is missing.
 */
#ifndef ASSAY_REPORT_READING_H
#define ASSAY_REPORT_READING_H

#include "base/digest.h"
#include "estimate/estimate.h"
#include "report/binary.h"
#include "report/emit.h"
#include "report/view.h"

struct counts;

struct reading {
	const char *path;
	char content[DIGEST_TEXT]; /* the recording's, for what is derived from it */
	/* how executions of a sampled one are told: the default, unless the caller knows better */
	enum estimate_method method;
	struct counts *counts; /* with ESTIMATE_COUNTED, else NULL; the caller's */
	struct profile profile;
	struct binaries binaries;
	struct view view;
	struct emit emit;
};

struct reading_options {
	const char *verb, *input;
	bool json, wide;
	bool explain;	  /* what columns and marks mean */
	bool empty_too;	  /* not a single sample is no error */
	binary_warn warn; /* as of struct binaries */
};

/* -1 with err set; ERR_EMPTY if there is not a single sample. */
int reading_open(struct reading *r, const struct reading_options *o, struct err *err);
/* complete: prints the JSON; else it was given up. */
void reading_close(struct reading *r, bool complete);

/* Two or three lines of text, or "recording" in JSON. */
void reading_heading(struct reading *r);
/* The first run's command, and how many more runs there are. */
const char *reading_command(const struct reading *r, char *buf, size_t n);
uint64_t reading_lost(const struct run_counters *n);
/* What the recorder and running ahead cost while the program ran, as a share of its CPU time; NAN if not known. */
double reading_cost(const struct run_counters *n);
/* "cost 3.1 %, start and end 62 ms"; "" if not known. */
char *reading_cost_text(const struct run_counters *n, char *buf, size_t size);
/* The share of the program's CPU time that no sample stands for, if that is worth telling: more than what chance and
 * rounding leave. NAN otherwise. */
double reading_missed(const struct run_counters *n);
/* Instructions executed; not known if a run did not count them: working sets by accesses. */
struct cell reading_executions(const struct reading *r);
/* False if the recorder of any run was killed. */
bool reading_finished(const struct reading *r);

#endif
