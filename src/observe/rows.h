/* SPDX-License-Identifier: MIT */
/*
 * Numbers that a simulation counts at sites: a row for each site of a profile, found by the site's number. Rows stay where
 * they are as long as their profile does. A row that is all 0 is as good as none.
 */
#ifndef ASSAY_OBSERVE_ROWS_H
#define ASSAY_OBSERVE_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct site_rows { /* all 0: there are none */
	size_t chunks;
	uint64_t **chunk; /* the rows of SITES_CHUNK sites, or NULL */
};

/* The row of n numbers of the site with that number; it is made if it is not there. NULL without memory. */
uint64_t *rows_get(struct site_rows *r, size_t site, unsigned n);
/* The row, or NULL if there is none or all of it is 0. */
uint64_t *rows_find(const struct site_rows *r, size_t site, unsigned n);
void rows_free(struct site_rows *r);

#endif
