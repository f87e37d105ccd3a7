/* SPDX-License-Identifier: MIT */
/*
 * Relations between two sites, a table each: `call` and `conflict`. Their rows have a part, a size and a blob, compressed
 * (store/packed.h), of columns (base/columns.h): in either, image and address of the first site (from the pair before,
 * zigzag), image and address of the second (from the first, zigzag), then
 *
 *   call      operands with a list, a bit for each from the return value on; their hot lists (src/sketch/hot_bytes.c)
 *   conflict  kind, count, nearest, farthest less nearest, distance less count times nearest (zigzag)
 */
#ifndef ASSAY_STORE_PAIRS_H
#define ASSAY_STORE_PAIRS_H

#include <sqlite3.h>

#include "observe/profile.h"
#include "store/packed.h"

/* Replaces the rows. An SQLite code. */
int pairs_write(sqlite3 *db, const struct profile *p, uint64_t patience);

enum pairs_result {
	PAIRS_OK,
	PAIRS_DATABASE,
	PAIRS_MEMORY,
	PAIRS_MALFORMED,
	PAIRS_TOO_LARGE,
};
struct pairs_to {
	struct profile *p;
	const uint32_t *map; /* the file's image numbers to the profile's */
	size_t nmap;
	struct budget *budget;
};
/* Adds the tables' rows to a profile. All data is untrusted. *what: the table. */
enum pairs_result pairs_read(sqlite3 *db, const struct pairs_to *to, const char **what);

#endif
