/* SPDX-License-Identifier: MIT */
/* Which parts of exact runs were observed (observe/sampled.h): tables sampled, sample, sample_batch, sample_value. */
#ifndef ASSAY_STORE_SAMPLED_ROWS_H
#define ASSAY_STORE_SAMPLED_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"

/* In place of what was written before. SQLite's code. */
int sampled_rows_write(sqlite3 *db, const struct profile *p);
/* Adds them to the profile, whose runs from first_run on are the recording's. NULL, or what is wrong ("no memory", if
 * that is all); with *code, SQLite's. */
const char *sampled_rows_read(sqlite3 *db, struct profile *p, size_t first_run, int *code);

#endif
