/* SPDX-License-Identifier: MIT */
/* The representation of a hot list, shared by hot.c and batch.c. */
#ifndef ASSAY_SKETCH_HOT_PRIV_H
#define ASSAY_SKETCH_HOT_PRIV_H

#include "sketch/hot.h"

#define INLINE_ENTRIES 2

struct entry {
	uint64_t value;
	uint64_t count;
	/* Space-Saving: the part of count that may belong to other values. Counting samples:
	 * estimate of the occurrences that the samples merged into this one missed, beyond those
	 * that tau accounts for. */
	uint64_t error;
	double weight; /* in weighted lists: weight of the certain occurrences */
};

struct hot {
	uint8_t method;
	bool weighted; /* weights are kept; else each occurrence weighs 1 */
	uint16_t capacity, n, room;
	uint16_t last;	  /* the entry that was hit last */
	uint32_t streams; /* counting samples merged with tau above 1, at least 1 */
	uint64_t total;
	uint64_t rest; /* Space-Saving: bound on the count of values outside the list */
	double tau;
	double weight; /* weight of everything that was added */
	struct entry *e;
	struct entry first[INLINE_ENTRIES];
};

/* Makes room for `room` entries. */
bool hot_grow(struct hot *h, unsigned room);
/* Appends an entry; the caller has checked that the list is below its capacity. -1 without
 * memory. */
int hot_append(struct hot *h, uint64_t value, uint64_t count, uint64_t error);

#endif
