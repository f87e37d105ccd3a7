/* SPDX-License-Identifier: MIT */
/* llvm-mca: the question it is asked, and its answer (--json), which is untrusted. */
#ifndef ASSAY_ESTIMATE_MCA_H
#define ASSAY_ESTIMATE_MCA_H

#include <stdio.h>

#include "cpu/models.h"
#include "estimate/schedule.h"

#define MCA_ITERATIONS 8 /* iterations of each block; the later half is used */

/* version of the question's form, to be changed when instructions are written differently, or
 * llvm-mca is started with other options */
#define MCA_QUESTION 5

/* Writes the blocks as regions, named by their index. Cold blocks, blocks with known schedules,
 * those of more than SCHEDULE_BLOCK_MAX instructions, and those with invalid bytes are left out. */
void mca_write(FILE *to, const struct schedule_block *v, size_t n, const struct cpu_model *m);
/*
 * Parses the answer: n bytes of JSON at text. Regions that differ from the question (llvm-mca did
 * not know an instruction) are ignored. Returns the number of blocks modelled; -1 with err set: the
 * text is no answer of llvm-mca.
 */
long mca_parse(const char *text, size_t size, struct schedule_block *v, size_t n, struct err *err);
/* The program to run: the requested one, or the first installed one among the known versions;
 * NULL: none. */
const char *mca_program(const struct schedule_options *o);
/* Asks llvm-mca about v and takes its answers, with several processes for many blocks. Returns
 * the blocks modelled, or -1 with err set. */
long mca_run(struct schedule_block *v, size_t n, const struct schedule_options *o, struct err *err);

#endif
