/* SPDX-License-Identifier: MIT */
/* What a hot list is made of: hot.c and batch.c. */
#ifndef ASSAY_SKETCH_HOT_PRIV_H
#define ASSAY_SKETCH_HOT_PRIV_H

#include "sketch/hot.h"

#define INLINE_ENTRIES 2

struct entry {
	uint64_t value;
	uint64_t count;
	/* Space-Saving: of count, how much may be other values'. Counting samples: estimate of what the
	 * samples merged into this one missed, beyond the one that tau is thrown for */
	uint64_t error;
	double weight; /* of the occurrences that are certain; in weighted lists */
};

struct hot {
	uint8_t method;
	bool weighted; /* weights are kept; else each occurrence weighs 1 */
	uint16_t capacity, n, room;
	uint16_t last;	  /* entry hit last */
	uint32_t streams; /* counting samples merged with tau above 1, at least 1 */
	uint64_t total;
	uint64_t rest; /* Space-Saving: bound of what is outside the list */
	double tau;
	double weight; /* of all that was added */
	struct entry *e;
	struct entry first[INLINE_ENTRIES];
};

/* Room for that many entries. */
bool hot_grow(struct hot *h, unsigned room);
/* An entry more: there is room below the capacity. -1 without memory. */
int hot_append(struct hot *h, uint64_t value, uint64_t count, uint64_t error);

#endif
