/* SPDX-License-Identifier: MIT */
/* The observed parts of exact runs (observe/sampled.h): tables sampled, sample, sample_batch,
 * sample_value. */
#ifndef ASSAY_STORE_SAMPLED_ROWS_H
#define ASSAY_STORE_SAMPLED_ROWS_H

#include <sqlite3.h>

#include "observe/profile.h"

/* Replaces the rows. Returns SQLite's code. */
int sampled_rows_write(sqlite3 *db, const struct profile *p);
/* Adds the rows to the profile, whose runs from first_run on are the recording's. Returns NULL,
 * or what is wrong ("no memory" for that); with *code, SQLite's error. */
const char *sampled_rows_read(sqlite3 *db, struct profile *p, size_t first_run, int *code);

#endif
