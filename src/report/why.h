/* SPDX-License-Identifier: MIT */
/*
 * Why it takes that time (culprit/): the analysis of a recording, kept in it once it was made; and what it
 * sums up to, of the program and by procedure, as the seed's Figure 4 does.
 */
#ifndef ASSAY_REPORT_WHY_H
#define ASSAY_REPORT_WHY_H

#include "culprit/program.h"
#include "report/reading.h"

struct why {
	struct culprit_program program;
	const struct culprit_machine *machine;
	bool cached; /* it was in the recording */
	double apart; /* as an estimate's: executions of the exact run over those that the program counted itself; or 0 */
};

/* Of a sampled recording. warn: tell which files cannot be used. -1 with err set: no memory. */
int why_make(struct why *w, struct reading *r, bool warn, struct err *err);
void why_fini(struct why *w);

/* "D-cache 1.2-69.0 @430e, latency 0-5.0 @430e": the guilty of a stall, the one with the highest bound first, as
 * many as fit; `by`: what a cycle is shown as. Returns buf. */
char *why_ranges_text(const struct culprit_range *v, double by, size_t width, char *buf, size_t n);
/* The same of a sum, in per cent of its cycles; without instructions. */
char *why_sum_text(const struct culprit_sum *s, size_t width, char *buf, size_t n);
/* An object by culprit: min and max, as shares of the cycles. */
json_t *why_sum_json(const struct culprit_sum *s);
/* What its executions may be off by, either way, in nine cases of ten. */
double why_factor(const struct culprit_sum *s);
/* The range that its CPI lies in, "1.2-2.3"; "" where it is known. Returns buf. */
char *why_cpi_text(const struct culprit_sum *s, char *buf, size_t n);

/* Behind executions in text, by confidence: ? low, ~ medium. */
char why_mark(uint8_t confidence);
/* Where executions come from, which tells how far they can be trusted: a footer; `method`, `counted` and `counts`, as
 * JSON. apart: the analysis's. */
void why_print_scale(struct reading *r, double apart, double counted);

struct why_options {
	const char *image; /* shell pattern, or NULL */
	unsigned n;	   /* procedures; 0: all */
};

/* -1 with err set: an exact recording, no memory, nothing matches. */
int why_print(struct reading *r, const struct why_options *o, struct err *err);

#endif
