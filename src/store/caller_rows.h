/* SPDX-License-Identifier: MIT */
/*
 * Values by caller as rows of a recording (observe/callers.h). Table `caller` has `part`, `size`, and `rows`, compressed
 * (store/packed.h): columns (base/columns.h) of pairs of instruction and caller,
 *
 *   image and address of the instruction (from the pair before, zigzag), image and address that the call returns to (from
 *   the instruction, zigzag), observations, windows, which operands have a list (bits),
 *   and the hot list of each such operand, lowest bit first (src/sketch/hot_bytes.c).
 *
 * Pairs that one window alone saw are not written.
 */
#ifndef ASSAY_STORE_CALLER_ROWS_H
#define ASSAY_STORE_CALLER_ROWS_H

#include <sqlite3.h>

#include "observe/callers.h"
#include "store/packed.h"

/* Writes all, in place of what is there. An SQLite code. */
int caller_rows_write(sqlite3 *db, const struct profile *p, uint64_t patience);
/* Adds all rows to the profile, after checking them. NULL, or what is wrong with them; *code is SQLite's. */
const char *caller_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     struct budget *budget, int *code);

#endif
