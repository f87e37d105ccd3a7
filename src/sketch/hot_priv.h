/* SPDX-License-Identifier: MIT */
/*
 * The representation of a hot list, which the files of this folder share.
 *
 * A recording has as many lists as instructions with values, and most of them see few values, few times. So the entries of
 * a list are brief until one of them has a count above BRIEF_MAX, or the list takes many values at once, or has weights and is merged or
 * scaled; then the list becomes wide for good. A list of a single brief entry holds the entry itself, in place of the
 * pointer to its entries and of `rest`, which is 0 then.
 */
#ifndef ASSAY_SKETCH_HOT_PRIV_H
#define ASSAY_SKETCH_HOT_PRIV_H

#include "sketch/hot.h"

#define BRIEF_MAX \
	4095 /* limit of sums of weights up to which a float rounds by less than one part in 10,000 */
#define STREAMS_MAX (1u << 30)

struct brief {
	uint64_t value;
	float weight;
	uint16_t count, error; /* as in struct entry */
};

struct entry {
	uint64_t value;
	uint64_t count;
	/* Space-Saving: the part of count that may belong to other values. Counting samples:
	 * estimate of the occurrences that the samples merged into this one missed, beyond those
	 * that tau accounts for. */
	uint64_t error;
	double weight; /* weight of the certain occurrences; in weighted lists */
};

struct hot { /* 40 bytes, which malloc serves from a 48-byte piece */
	uint64_t method : 1;
	uint64_t weighted : 1; /* weights are kept; else each occurrence weighs 1 */
	uint64_t wide : 1;     /* e; else brief. Counting samples are always wide */
	uint64_t capacity : 15, n : 15, room : 15;
	uint64_t last : 15; /* the entry that was hit last */
	uint64_t total;
	double weight; /* weight of everything that was added */
	union {
		struct brief only; /* hot_holds_only() */
		struct {
			union {
				/* Space-Saving: bound on the count of values outside the list; read by hot_rest() */
				uint64_t rest;
				double tau; /* counting samples */
			};
			union {
				struct brief *brief; /* read by hot_brief() */
				struct entry *e;
			};
		};
	};
};

_Static_assert(sizeof(struct hot) == 40, "a list of one value takes a 48-byte piece");

/* Whether the list has room for one entry, which lies in the list itself. */
static inline bool hot_holds_only(const struct hot *h)
{
	return !h->wide && h->room == 1;
}

static inline struct brief *hot_brief(const struct hot *h)
{
	return hot_holds_only(h) ? (struct brief *)&h->only : h->brief;
}

static inline uint64_t hot_rest(const struct hot *h)
{
	return hot_holds_only(h) ? 0 : h->rest;
}

/* A hot list that is a counting sample, with what only these have. */
struct counting {
	struct hot hot;
	uint32_t streams; /* those merged with tau above 1, at least 1 */
};

static inline struct counting *hot_counting(const struct hot *h)
{
	return (struct counting *)h;
}

static inline double hot_certain(const struct hot *h, const struct entry *e)
{
	return (double)(h->method == HOT_COUNTING ? e->count : e->count - e->error);
}

static inline void hot_weigh(struct hot *h, unsigned i, double weight)
{
	if (h->wide)
		h->e[i].weight = weight;
	else
		hot_brief(h)[i].weight = (float)weight;
}

/* Whether the list's form has room for such a count. Weights are summed and multiplied in wide lists alone, where they
 * are not rounded to floats. */
static inline bool hot_fits(const struct hot *h, uint64_t count)
{
	return h->wide || (!h->weighted && count <= BRIEF_MAX);
}

/* Writes entry i, which must fit. */
static inline void hot_put(struct hot *h, unsigned i, struct entry e)
{
	if (h->wide)
		h->e[i] = e;
	else
		hot_brief(h)[i] = (struct brief){ e.value, (float)e.weight, (uint16_t)e.count,
						  (uint16_t)e.error };
}

/* Checks the invariants of a list between two calls, in builds that check invariants. */
void hot_check(const struct hot *h);
struct entry hot_entry(const struct hot *h, unsigned i); /* the i-th entry of any list */
/* Makes the list wide. False without memory. */
bool hot_widen(struct hot *h);
/* Makes room for `rest` where it lacks. False without memory. */
bool hot_room_for_rest(struct hot *h);
/* Makes room for `room` entries of a wide list. */
bool hot_grow(struct hot *h, unsigned room);
/* Replaces all entries by n others, in brief if the list is brief and they can be. -1 without memory: the list is
 * unchanged, or the same in another form. */
int hot_put_all(struct hot *h, const struct entry *e, unsigned n);
/* Appends an entry; the caller has checked that the list is below its capacity. -1 without
 * memory. */
int hot_append(struct hot *h, uint64_t value, uint64_t count, uint64_t error);
/* The entry of the value in a wide list, or NULL. */
struct entry *hot_find(struct hot *h, uint64_t value);
/* Gives everything added so far a weight of 1 each. */
void hot_weigh_evenly(struct hot *h);
/* A wide copy with room for `more` entries. */
struct hot *hot_copy(const struct hot *h, unsigned more);

/* Counting samples (hot_counting.c). */
/* Adds n occurrences of a value that is not in the list. -1 without memory. */
int hot_enter(struct hot *h, uint64_t value, uint64_t n);
int hot_merge_counting(struct hot *dst, const struct hot *src);
/* The number of missed occurrences of a value that is exceeded with probability `doubt`. */
double hot_missed(const struct hot *h, double doubt);

#endif
