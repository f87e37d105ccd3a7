/* SPDX-License-Identifier: MIT */
/*
 * What lies between two sites, a table each: edges, calls, conflicts.
 */
#ifndef ASSAY_STORE_PAIRS_H
#define ASSAY_STORE_PAIRS_H

#include <sqlite3.h>

#include "observe/profile.h"

/* In place of what is there; edges where they are not packed. False: the database, or SQLITE_NOMEM if that says nothing. */
bool pairs_write(sqlite3 *db, const struct profile *p, bool packed);

enum pairs_result {
	PAIRS_OK,
	PAIRS_DATABASE,
	PAIRS_MEMORY,
	PAIRS_MALFORMED,
};
/* Adds what the tables hold, if they are there, to p; nothing of it is trusted. Images are numbered by
 * map[0..nmap). *what: the table. */
enum pairs_result pairs_read(sqlite3 *db, struct profile *p, const uint32_t *map, size_t nmap,
			     const char **what);

#endif
