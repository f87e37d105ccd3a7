/* SPDX-License-Identifier: MIT */
/*
 * The hot values of one operand of a site, with their shares and bounds, as text in the form of the
 * value profiles of Burrows et al., ASPLOS 2000:
 *
 *   rax:(98.9+-0.4% 0xff..ff) (0.5+-0.3% 0x0) known 83%
 *
 * In an exact recording shares have a bound only where a list has not held all values.
 */
#ifndef ASSAY_REPORT_OPERANDS_H
#define ASSAY_REPORT_OPERANDS_H

#include "x86/insn.h"
#include "report/emit.h"
#include "query/share.h"
#include "query/view.h"

#define OPERANDS_TOP 16

struct operand_values {
	int operand;	       /* enum operand */
	uint64_t observations; /* observations with a known value */
	double known;	       /* share of observations with a known value */
	bool exact;	       /* the list is complete: other values did not occur */
	unsigned n;
	struct hot_value value[OPERANDS_TOP];
	struct share share[OPERANDS_TOP];
};

/* The share of a value in the list h of the site's operand, as it is shown. */
struct share operands_share(const struct view *v, const struct site *s, const struct hot *h,
			    const struct hot_value *value);
/* The share of branches taken. */
struct share operands_taken(const struct view *v, const struct site *s);
/* Reads the values. False if the site has none of that operand. */
bool operands_read(struct operand_values *o, const struct view *v, const struct site *s,
		   int operand);
/* Reads the values of a list of the site with that many observations. */
bool operands_list(struct operand_values *o, const struct view *v, const struct site *s,
		   int operand, const struct hot *h, uint64_t observed);
/* "rax" for a result, argument or returned value; else "load", "store", "addr", "to". Without in
 * (NULL), results are called "result". */
const char *operands_label(const struct insn *in, int operand);
/* Writes the text described above; stops before the value that would exceed `width` columns.
 * Returns buf. */
char *operands_text(const struct operand_values *o, const char *label, int width, char *buf,
		    size_t n);
json_t *operands_json(const struct operand_values *o, const struct insn *in);
/* "98.9+-0.4"; "98.9" if the share is exact */
char *operands_share_text(const struct share *s, char *buf, size_t n);

#endif
