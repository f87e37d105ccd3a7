/* SPDX-License-Identifier: MIT */
/*
 * The host's part of counting programs, whose results are a pair of numbers, mostly addresses, and
 * some counters.
 *
 * Such a program has arrays `first`, `second` and `count`, with one element each for every entry;
 * the fields of `count`, with any names, are the counters. The host adds counters that are not 0 to
 * its table and resets the program: the associative array is emptied, counters become 0, and index
 * registers get their start values, except those whose names begin with "keep".
 */
#ifndef ASSAY_COPROC_HOST_COUNTS_H
#define ASSAY_COPROC_HOST_COUNTS_H

#include <uthash.h>

#include "coproc/feed.h"

struct counted_key {
	uint64_t first, second;
};
struct counted_pair {
	struct counted_key key;
	uint64_t n[PROGRAM_FIELDS]; /* indexed by the fields of `count` */
	UT_hash_handle hh;
};

struct host_counts {
	const struct program *p;
	struct counted_pair *pairs; /* uthash, key */
	uint64_t copies, records;
	/* private */
	int first, second, count;
	uint64_t timer;
};

/* Returns -1 with err set if the program has no such arrays. */
int host_counts_init(struct host_counts *h, const struct program *p, struct err *err);
void host_counts_fini(struct host_counts *h);
struct host host_counts_host(struct host_counts *h);
const struct counted_pair *host_counts_find(const struct host_counts *h, uint64_t first,
					    uint64_t second);

#endif
