/* SPDX-License-Identifier: MIT */
/* Misses of a simulated machine, in readings of recordings made with --observe misses. */
#ifndef ASSAY_REPORT_MISSES_H
#define ASSAY_REPORT_MISSES_H

#include "observe/misses.h"
#include "report/reading.h"

/* Prints the table of procedures, most misses of the first level first; nothing if there are
 * none. n: rows, 0: all. -1 without memory. */
int misses_print(struct reading *r, const char *image, unsigned n);

/* Text only: remarks that the figures are those of a simulated machine, and describes it. */
void misses_machine(struct reading *r, const char *remark);
/* Describes the misses of an instruction, relative to its executions; "" if there are none.
 * Returns buf. */
char *misses_note(const struct misses *m, char *buf, size_t n);
/* Returns all counts by name; NULL if m is NULL. */
json_t *misses_json(const struct misses *m);

#endif
