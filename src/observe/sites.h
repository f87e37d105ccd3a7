/* SPDX-License-Identifier: MIT */
/*
 * The sites of a profile: in the order in which they were met, and found by what they are. There are as many as
 * a program has instructions that ran: so they are small, and lie one behind the other.
 */
#ifndef ASSAY_OBSERVE_SITES_H
#define ASSAY_OBSERVE_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "sketch/hot.h"
#include "stream/window.h"

/* What windows observed, each weighed by how much more, or less, often than others it is seen (profile_window). */
struct site_weights {
	double observed, taken;
	double square; /* sum over windows of the square of what each of them added to observed */
	double in_window; /* private, as what follows: what this one added */
	double starts;	  /* windows that began here */
	double near;	  /* observed soon after a window began */
};

struct site {
	struct site_id id;
	uint64_t target;  /* of a direct branch, jump or call, where it lies in its image; else 0 */
	uint64_t samples; /* time samples */
	double time;	  /* ns (or cycles: run.unit) that they stand for */
	uint64_t observed; /* times that a window retired it */
	uint64_t taken;	   /* of those, branches taken */
	uint64_t
		windows; /* different windows that did, of samples of an exact run batches; 0 if not known */
	uint64_t seen; /* private: the last of them, as profile.windows counts */
	/* of each operand, to be read: NULL, never seen. hot_total() <= observed: the rest unknown */
	struct hot *const *operand;
	struct locality *locality;    /* NULL: none (observe/locality.h) */
	struct site_weights *weights; /* NULL: 1 each; to be read by site_weights() */
	uint8_t cls, len;
};

#define SITES_CHUNK 1024
struct sites {
	size_t n;
	struct site **chunk; /* of SITES_CHUNK each: a site stays where it is */
	uint64_t *slot; /* hash << 32 | number + 1, or 0; linear probing, more than half is free */
	size_t slots;	/* a power of two, or 0 */
};

/* For `operand` of a site without hot lists. */
extern struct hot *const site_no_operands[OPERAND_N];

void sites_fini(struct sites *t);
/* NULL: not there. */
struct site *sites_find(const struct sites *t, struct site_id id);
/* Made if new; NULL: no memory. */
struct site *sites_get(struct sites *t, struct site_id id);
/* All of them, sorted by image, then address, as SQLite compares it: signed. To be freed; NULL: no memory. */
struct site **sites_sorted(const struct sites *t);
/* Where the operand's hot list goes, a NULL if there is none yet; NULL: no memory. */
struct hot **site_operand(struct site *s, int operand);
/* Its weights; where there are none, each observation weighs 1. */
struct site_weights site_weights(const struct site *s);
/* Its weights, to be written: made of that if there were none. NULL: no memory. */
struct site_weights *site_weigh(struct site *s);

static inline struct site *sites_nth(const struct sites *t, size_t i)
{
	return i < t->n ? &t->chunk[i / SITES_CHUNK][i % SITES_CHUNK] : NULL;
}

/* for (each site s of t): those that are added meanwhile, too */
#define SITES_EACH(t, s) for (size_t s##_number = 0; ((s) = sites_nth(t, s##_number)); s##_number++)

#endif
