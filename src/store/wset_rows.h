/* SPDX-License-Identifier: MIT */
/* Working sets as rows of a recording (docs/recording.md). */
#ifndef ASSAY_STORE_WSET_ROWS_H
#define ASSAY_STORE_WSET_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"
#include "store/budget.h"

/* Replaces the rows by the profile's working sets. Returns an SQLite result code. */
int wset_rows_write(sqlite3 *db, const struct profile *p);
/* Adds the working sets of a recording, whose first run is the profile's `first_run`. Returns
 * NULL, or what is damaged (not an error of SQLite). Expanded bytes are taken from the budget.
 * *code: SQLite's result. */
const char *wset_rows_read(sqlite3 *db, struct profile *p, size_t first_run, struct budget *budget,
			   int *code);

#endif
