/* SPDX-License-Identifier: MIT */
/* What a simulated core took, in readings of recordings made with --observe cycles. */
#ifndef ASSAY_REPORT_CYCLES_H
#define ASSAY_REPORT_CYCLES_H

#include "observe/cycles.h"
#include "report/reading.h"

/* The table of procedures, most cycles first; nothing where there are none. n: rows, 0: all. -1 without memory. */
int cycles_print(struct reading *r, const char *image, unsigned n);

/* Cycles of an execution of an instruction, and what they were spent on; "" if most of them are its share of the core's
 * width. Returns buf. */
char *cycles_note(const struct cycles *c, uint64_t executions, char *buf, size_t n);
/* Cycles, by part and in all; NULL if c is. */
json_t *cycles_json(const struct cycles *c);

#endif
