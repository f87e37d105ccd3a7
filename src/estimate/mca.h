/* SPDX-License-Identifier: MIT */
/*
 * llvm-mca: what it is asked, and its answer (--json), which is not trusted.
 */
#ifndef ASSAY_ESTIMATE_MCA_H
#define ASSAY_ESTIMATE_MCA_H

#include <stdio.h>

#include "estimate/schedule.h"

#define MCA_ITERATIONS 8 /* of each block; the later half is looked at */

#define MCA_QUESTION 3 /* how instructions are written: another number where that changes */

/* Writes the blocks as regions, named by their index. Cold and known ones, those of more than SCHEDULE_BLOCK_MAX instructions, and
 * those with bytes that are none, are left out. */
void mca_write(FILE *to, const struct schedule_block *v, size_t n);
/*
 * Takes the answer: n bytes of JSON at text. Regions that are not as asked (an instruction was not known) are
 * left alone. Returns the number of blocks modelled; -1 with err set: this is no answer of llvm-mca.
 */
long mca_parse(const char *text, size_t size, struct schedule_block *v, size_t n, struct err *err);
/* The one to be run: as asked, or the first that is installed of those that are known to do; NULL: none. */
const char *mca_program(const struct schedule_options *o);
/* Runs it, both of the above: many blocks in several processes, some at a time. Blocks modelled, or -1 with err set. */
long mca_run(struct schedule_block *v, size_t n, const struct schedule_options *o, struct err *err);

#endif
