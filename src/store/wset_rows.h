/* SPDX-License-Identifier: MIT */
/* Working sets as rows of a recording: docs/recording.md. */
#ifndef ASSAY_STORE_WSET_ROWS_H
#define ASSAY_STORE_WSET_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"
#include "store/budget.h"

/* Writes all of a profile's, in the place of what was there. An SQLite result code. */
int wset_rows_write(sqlite3 *db, const struct profile *p);
/* Adds those of a recording, whose first run is the profile's `first_run`. NULL, or what is damaged (not an error
 * of SQLite's). What they expand to is taken from the budget. *code: SQLite's result. */
const char *wset_rows_read(sqlite3 *db, struct profile *p, size_t first_run, struct budget *budget,
			   int *code);

#endif
