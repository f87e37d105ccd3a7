/* SPDX-License-Identifier: MIT */
/*
 * Values by caller as rows of a recording (observe/callers.h). Table `caller` has `part`, `size`, and `rows` (zstd): for each
 * pair of instruction and caller
 *
 *   image and address of the instruction (zigzag, minus that of the pair before), image and address that the call returns to
 *   (zigzag, minus that of the instruction), observations, windows, which operands have a list (bits): varints;
 *   then the hot list of each such operand, lowest bit first.
 *
 * Pairs that one window alone saw are not written.
 */
#ifndef ASSAY_STORE_CALLER_ROWS_H
#define ASSAY_STORE_CALLER_ROWS_H

#include <sqlite3.h>

#include "observe/callers.h"
#include "store/budget.h"

/* Writes all, in place of what is there. An SQLite code. */
int caller_rows_write(sqlite3 *db, const struct profile *p);
/* Adds all rows to the profile, after checking them. NULL, or what is wrong with them; *code is SQLite's. */
const char *caller_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     struct budget *budget, int *code);

#endif
