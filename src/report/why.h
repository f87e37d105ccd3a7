/* SPDX-License-Identifier: MIT */
/*
 * Reasons for the time of a program (culprit/): the analysis of a recording, which is cached, and
 * its sums for the program and by procedure, in the form of the summaries of Anderson et al., SOSP
 * 1997.
 */
#ifndef ASSAY_REPORT_WHY_H
#define ASSAY_REPORT_WHY_H

#include "culprit/program.h"
#include "report/reading.h"

struct why {
	struct culprit_program program;
	const struct culprit_machine *machine;
	bool cached; /* the result came from the cache */
	/* as in an estimate: executions of the exact run over those that the program counted
	 * itself; or 0 */
	double apart;
};

/* Analyses a sampled recording. warn: report files that cannot be used. -1 with err set: no
 * memory. */
int why_make(struct why *w, struct reading *r, bool warn, struct err *err);
void why_fini(struct why *w);

/* Writes the culprits of a stall, highest bound first, as many as fit: "D-cache 1.2-69.0 @430e,
 * latency 0-5.0 @430e"; `by`: factor from cycles to the displayed unit. Returns buf. */
char *why_ranges_text(const struct culprit_range *v, double by, size_t width, char *buf, size_t n);
/* Writes the culprits of a sum, in per cent of its cycles, without instructions. */
char *why_sum_text(const struct culprit_sum *s, size_t width, char *buf, size_t n);
/* Returns an object by culprit: min and max, as shares of the cycles. */
json_t *why_sum_json(const struct culprit_sum *s);
/* Writes the range of its CPI, "1.2-2.3"; "" if the CPI is known. Returns buf. */
char *why_cpi_text(const struct culprit_sum *s, char *buf, size_t n);

/* The mark after executions in text, by confidence: ? low, ~ medium. */
char why_mark(uint8_t confidence);
/* Explains where executions come from, which tells how far they can be trusted: a footer;
 * `method`, `counted` and `counts` in JSON. apart: from the analysis. */
void why_print_scale(struct reading *r, double apart, double counted);

struct why_options {
	const char *image; /* shell pattern, or NULL */
	unsigned n;	   /* rows of procedures; 0: all */
};

/* Returns -1 with err set: an exact recording, no memory, nothing matches. */
int why_print(struct reading *r, const struct why_options *o, struct err *err);

#endif
