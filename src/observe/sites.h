/* SPDX-License-Identifier: MIT */
/*
 * The sites of a profile: stored in the order in which they were met, and found by hash. There are
 * as many as a program has executed instructions, so they are small and adjacent in memory.
 */
#ifndef ASSAY_OBSERVE_SITES_H
#define ASSAY_OBSERVE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/lists.h"
#include "stream/window.h"

/* Weighted observations of windows; the weight corrects for how often a window is sampled
 * (profile_window). */
struct site_weights {
	double observed, taken;
	/* sum over windows of the square of each window's contribution to observed */
	double square;
	double near;	 /* private, like the following: observations soon after a window began */
	float in_window; /* contribution of the current window */
	uint32_t starts; /* windows that began here */
};

struct site {
	struct site_id id;
	/* target of a direct branch, jump or call if it is in the same image; else 0 */
	uint64_t target;
	uint64_t samples;  /* time samples */
	double time;	   /* ns (or cycles: run.unit) that the samples stand for */
	uint64_t observed; /* number of times that a window retired it */
	uint64_t taken;	   /* number of those where the branch was taken */
	uint64_t
		/* number of different windows, or batches of an exact run's samples, that retired
		 * the site; 0: not known */
		windows;
	uint64_t seen;	 /* private: the last window that retired the site, by profile.windows */
	union lists hot; /* private, with `lists`: see site_hot() */
	struct locality_kept *locality; /* NULL: none; read by locality_get() */
	struct site_weights *weights;	/* NULL: 1 each; read by site_weights() */
	uint8_t cls, len;
	uint16_t lists;	      /* a bit for each enum operand */
	uint32_t number : 31; /* of the sites of its profile */
	uint32_t noted : 1;   /* private: in the list of sites_note() */
};

#define SITES_CHUNK 1024
struct sites {
	size_t n;
	struct site **chunk; /* chunks of SITES_CHUNK sites; a site never moves */
	/* hash << 32 | number + 1, or 0; linear probing; more than half of the slots are free */
	uint64_t *slot;
	size_t slots; /* a power of two, or 0 */
	size_t last;  /* private: number of the site that sites_get() returned last */
	/* The sites of the part at hand, where parts of a run are added one by one. */
	bool noting;
	struct site **note;
	size_t nnote;
};

void sites_fini(struct sites *t);
/* Returns NULL if the site is not there. */
struct site *sites_find(const struct sites *t, struct site_id id);
/* Finds or makes the site; NULL: no memory. */
struct site *sites_get(struct sites *t, struct site_id id);
/* All sites sorted by image, then address, compared as signed numbers as SQLite does. To be
 * freed; NULL: no memory. */
struct site **sites_sorted(const struct sites *t);
/* The place of the operand's hot list, which is NULL if there is none; making another list may move it. NULL: no
 * memory. */
struct hot **site_operand(struct site *s, int operand);
/* The site's weights; without recorded ones, each observation weighs 1. */
struct site_weights site_weights(const struct site *s);
/* The site's weights for writing, made from its counts if there are none. NULL: no memory. */
struct site_weights *site_weigh(struct site *s);

/* The operand's hot list. NULL: never observed. hot_total() <= observed, the rest is unknown. */
static inline struct hot *site_hot(const struct site *s, int operand)
{
	return lists_get(s->hot, s->lists, operand);
}
/* Notes that something is counted at the site: with `noting` the site is added to the list of such sites. -1 without
 * memory. */
int sites_add_note(struct sites *t, struct site *s);
static inline int sites_note(struct sites *t, struct site *s)
{
	return t->noting && !s->noted ? sites_add_note(t, s) : 0;
}
/* Empties the list of noted sites. */
void sites_forget_notes(struct sites *t);

static inline struct site *sites_nth(const struct sites *t, size_t i)
{
	return i < t->n ? &t->chunk[i / SITES_CHUNK][i % SITES_CHUNK] : NULL;
}

/* for (each site s of t), including sites that are added meanwhile */
#define SITES_EACH(t, s) for (size_t s##_number = 0; ((s) = sites_nth(t, s##_number)); s##_number++)

/* Iterates over all sites, or over the noted ones if sites are noted. */
static inline struct site *sites_nth_counted(const struct sites *t, size_t i)
{
	if (!t->noting)
		return sites_nth(t, i);
	return i < t->nnote ? t->note[i] : NULL;
}
#define SITES_COUNTED(t, s) \
	for (size_t s##_number = 0; ((s) = sites_nth_counted(t, s##_number)); s##_number++)

#endif
