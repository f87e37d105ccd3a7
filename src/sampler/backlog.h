/* SPDX-License-Identifier: MIT */
/*
 * A queue of records from the ring buffer that wait to be observed, oldest first. Observing many records in a row is
 * cheaper than observing each when it arrives, because the caches stay warm.
 */
#ifndef ASSAY_SAMPLER_BACKLOG_H
#define ASSAY_SAMPLER_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backlog {
	uint64_t *word; /* for each record its length in bytes, then its content */
	size_t n, cap;	/* words */
	size_t next;	/* index of the oldest record */
};

/* Appends a copy. False without memory. */
bool backlog_put(struct backlog *b, const void *record, size_t bytes);
/* Returns the oldest record, aligned to a word; NULL if there is none. The record stays in place until the next call of
 * a backlog function. */
const void *backlog_take(struct backlog *b, size_t *bytes);
/* Returns the bytes of records that wait. */
size_t backlog_waiting(const struct backlog *b);
void backlog_fini(struct backlog *b);

#endif
