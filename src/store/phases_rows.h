/* SPDX-License-Identifier: MIT */
/* Phases in a recording: tables phases and phases_part of docs/recording.md. */
#ifndef ASSAY_STORE_PHASES_ROWS_H
#define ASSAY_STORE_PHASES_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"
#include "store/budget.h"

/* Replaces the rows. Returns SQLITE_OK, or an SQLite error code. */
int phases_rows_write(sqlite3 *db, const struct profile *p);

struct phases_rows {
	struct profile *p;
	size_t first_run;    /* the recording's first run in the profile */
	const uint32_t *map; /* map from images of the recording to those of the profile */
	size_t nmap;
	struct budget *budget;
};
/* Returns NULL, or what is wrong; *code: SQLite's error, if it failed. */
const char *phases_rows_read(sqlite3 *db, const struct phases_rows *to, int *code);

#endif
