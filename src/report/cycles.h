/* SPDX-License-Identifier: MIT */
/* Cycles of a simulated core, in readings of recordings made with --observe cycles. */
#ifndef ASSAY_REPORT_CYCLES_H
#define ASSAY_REPORT_CYCLES_H

#include "observe/cycles.h"
#include "report/reading.h"

/* Prints the table of procedures, most cycles first; nothing if there are none. n: rows, 0: all.
 * -1 without memory. */
int cycles_print(struct reading *r, const char *image, unsigned n);

/* Describes the cycles of an instruction's execution, and their composition; "" if they are
 * mostly its share of the core's width. Returns buf. */
char *cycles_note(const struct cycles *c, uint64_t executions, char *buf, size_t n);
/* Cycles by part and in total, as JSON; NULL if c is NULL. */
json_t *cycles_json(const struct cycles *c);

#endif
