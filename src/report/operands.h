/* SPDX-License-Identifier: MIT */
/*
 * The hot values of one operand of a site, with their shares and bounds, as text in the manner of the
 * DCPI value profiles (seed 001):
 *
 *   rax:(98.9+-0.4% 0xff..ff) (0.5+-0.3% 0x0) known 83%
 *
 * In an exact recording shares have a bound only where a list has not held all values.
 */
#ifndef ASSAY_REPORT_OPERANDS_H
#define ASSAY_REPORT_OPERANDS_H

#include "isa/insn.h"
#include "report/emit.h"
#include "report/share.h"
#include "report/view.h"

#define OPERANDS_TOP 16

struct operand_values {
	int operand;	       /* enum operand */
	uint64_t observations; /* with a known value */
	double known;	       /* their share of all observations of the site */
	bool exact;	       /* nothing was left out: what is not listed did not occur */
	unsigned n;
	struct hot_value value[OPERANDS_TOP];
	struct share share[OPERANDS_TOP];
};

/* How many of n observations of a site count as independent: those within one window do not, and windows count less
 * where they weigh unevenly. Where the site's windows are not known, the recording's bound them. */
double operands_independent(const struct view *v, const struct site *s, uint64_t n);
/* Of a value of the site's operand that h is the list of: as it is shown. */
struct share operands_share(const struct view *v, const struct site *s, const struct hot *h,
			    const struct hot_value *value);
/* Of a site's branches taken. */
struct share operands_taken(const struct view *v, const struct site *s);
/* False if the site has no values of that operand. */
bool operands_read(struct operand_values *o, const struct view *v, const struct site *s,
		   int operand);
/* … of a list of the site's that was observed so often. */
bool operands_list(struct operand_values *o, const struct view *v, const struct site *s,
		   int operand, const struct hot *h, uint64_t observed);
/* "rax" for a result, argument or returned value; else "load", "store", "addr", "to". in may be NULL:
 * results are then called so. */
const char *operands_label(const struct insn *in, int operand);
/* As above; ends where the next value would go beyond `width` columns. Returns buf. */
char *operands_text(const struct operand_values *o, const char *label, int width, char *buf,
		    size_t n);
json_t *operands_json(const struct operand_values *o, const struct insn *in);
/* "98.9+-0.4"; "98.9" if it is exact */
char *operands_share_text(const struct share *s, char *buf, size_t n);

#endif
