/* SPDX-License-Identifier: MIT */
/* Results of simulated caches: misses by site, reuse distances by process and by site; and
 * tallies, in a table each. */
#ifndef ASSAY_STORE_MODEL_ROWS_H
#define ASSAY_STORE_MODEL_ROWS_H

#include <sqlite3.h>

#include "store/pairs.h"

/* Replaces the rows. False: an error of the database, or SQLITE_NOMEM if it reports none. */
bool model_rows_write(sqlite3 *db, const struct profile *p);
/* Adds the tables' rows to p, whose runs from first_run on are theirs. All data is untrusted.
 * map[0..nmap) gives the numbers of images. *what: the table. */
enum pairs_result model_rows_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
				  size_t first_run, const char **what);

#endif
