/* SPDX-License-Identifier: MIT */
/*
 * Records of the ring buffer that wait to be observed, in the order in which they came: looking at many of them at once
 * costs less than at each where caches have gone cold since the one before.
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
/* The oldest one, aligned as words are; NULL: none. It stays where it is until the next call of any of these. */
const void *backlog_take(struct backlog *b, size_t *bytes);
/* Returns the bytes of records that wait. */
size_t backlog_waiting(const struct backlog *b);
void backlog_fini(struct backlog *b);

#endif
