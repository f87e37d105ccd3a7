/* SPDX-License-Identifier: MIT */
/* What simulated caches say: misses by site, reuse distances by process and by site; and tallies; a table each. */
#ifndef ASSAY_STORE_MODEL_ROWS_H
#define ASSAY_STORE_MODEL_ROWS_H

#include <sqlite3.h>

#include "store/pairs.h"

/* In place of what is there. packed: without localities, which are in the snapshot. False: the database, or SQLITE_NOMEM
 * if that says nothing. */
bool model_rows_write(sqlite3 *db, const struct profile *p, bool packed);
/* Adds what the tables hold, if they are there, to p, whose runs from first_run on are theirs; nothing of it is trusted.
 * Images are numbered by map[0..nmap). *what: the table. */
enum pairs_result model_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
				  size_t first_run, const char **what);

#endif
