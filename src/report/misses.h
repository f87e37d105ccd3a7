/* SPDX-License-Identifier: MIT */
/* What a simulated machine missed, in readings of recordings made with --observe misses. */
#ifndef ASSAY_REPORT_MISSES_H
#define ASSAY_REPORT_MISSES_H

#include "observe/misses.h"
#include "report/reading.h"

/* The table of procedures, most misses of the first level first; nothing where there are none. n: rows, 0: all.
 * -1 without memory. */
int misses_print(struct reading *r, const char *image, unsigned n);

/* Text only: a remark that what was shown is of a simulated machine, and which. */
void misses_machine(struct reading *r, const char *remark);
/* An instruction's, in few words: the misses that it has, of its executions; "" if none. Returns buf. */
char *misses_note(const struct misses *m, char *buf, size_t n);
/* All counts by name; NULL if m is. */
json_t *misses_json(const struct misses *m);

#endif
