/* SPDX-License-Identifier: MIT */
/*
 * Numbers that a simulation counts at sites: a row for each site of a profile, found by the site's number. Rows do not
 * move while their profile exists. A row of zeroes counts as absent.
 */
#ifndef ASSAY_OBSERVE_ROWS_H
#define ASSAY_OBSERVE_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct site_rows { /* all 0: there are no rows */
	size_t chunks;
	uint64_t **chunk; /* the rows of SITES_CHUNK sites, or NULL */
};

/* Returns the site's row of n numbers, made if there is none. NULL without memory. */
uint64_t *rows_get(struct site_rows *r, size_t site, unsigned n);
/* Returns the row, or NULL if there is none or all of it is 0. */
uint64_t *rows_find(const struct site_rows *r, size_t site, unsigned n);
void rows_free(struct site_rows *r);

#endif
