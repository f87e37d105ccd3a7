/* SPDX-License-Identifier: MIT */
/* Relations between two sites, a table each: calls, conflicts. */
#ifndef ASSAY_STORE_PAIRS_H
#define ASSAY_STORE_PAIRS_H

#include <sqlite3.h>

#include "observe/profile.h"

/* Replaces the rows. False: an error of the database, or SQLITE_NOMEM if it reports none. */
bool pairs_write(sqlite3 *db, const struct profile *p);

enum pairs_result {
	PAIRS_OK,
	PAIRS_DATABASE,
	PAIRS_MEMORY,
	PAIRS_MALFORMED,
};
/* Adds the tables' rows to p. All data is untrusted. map[0..nmap) gives the numbers of images.
 * *what: the table. */
enum pairs_result pairs_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     const char **what);

#endif
