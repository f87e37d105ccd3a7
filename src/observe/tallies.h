/* SPDX-License-Identifier: MIT */
/*
 * Tallies: words of memory that the program itself counts with.
 *
 * An instruction that loads a word, adds the same constant each time, and stores it (x->n++, *budget -= 4), tells how
 * often it ran: two windows that see the word, at two times, see two values, and what lies between them over the step
 * is how often it ran meanwhile. Exactly: how many windows there are, and where they begin, does not matter.
 *
 *   tally  the instruction that stores: its step, how often windows saw it add that, or something else
 *   word   process and address, as long as it is remembered: its last value, when, and who advanced it last
 *   gap    from one window that saw a word to the next one that did: how far it advanced; or that it had
 *          been set back, and nothing is known. A word that is set back again and again is still good for gaps
 *          that are much shorter than what lies between two such times: so gaps are kept by their length.
 *   group  tallies that advance the same words: what these advanced by is theirs together
 *
 * Only so many words are remembered; where many are counted with by one instruction (a counter in each object) few
 * gaps are seen for the times that windows saw one of them.
 */
#ifndef ASSAY_OBSERVE_TALLIES_H
#define ASSAY_OBSERVE_TALLIES_H

#include "observe/profile.h"

#define TALLY_OCTAVES 24 /* of lengths: less than 2^17 ns, less than 2^18 … */
#define TALLY_PEERS 4

struct tally_gaps {
	uint64_t n;		  /* in which the word advanced */
	uint64_t back;		  /* it was set back, or to something else */
	uint64_t time, back_time; /* ns, of either */
	double advance;		  /* of the word, in the direction of the step */
};

/* How often a gap began with what the other one had stored. */
struct tally_peer {
	struct site_id site;
	uint64_t n;
};

struct tally {
	struct site_id key;
	int64_t step;
	uint64_t agreed, differed; /* times that it added its step, something else */
	uint64_t seen;		   /* windows that saw one of its words */
	uint64_t strangers; /* … in which something else stored there; peers beyond TALLY_PEERS */
	struct tally_gaps gaps[TALLY_OCTAVES];
	struct tally_peer peer[TALLY_PEERS]; /* n = 0: none */
	struct tally *leader;		     /* private: of those that count with one register */
	uint64_t joined;		     /* private: times that it went on from another's */
	UT_hash_handle hh;
};

int tallies_window(struct profile *p, const struct window *w);
/* ns: what gaps of the i-th octave are at least. */
uint64_t tally_octave(unsigned i);
/* Whether it adds the same each time, having been seen so often. */
bool tally_is_sure(const struct tally *t, uint64_t often);
/* The entry, made if new; NULL without memory. */
struct tally *tallies_get(struct profile *p, struct site_id id);
/* Adds what was seen elsewhere; its peers are not looked at. */
void tally_add(struct tally *t, const struct tally *more);
void tally_add_peer(struct tally *t, struct site_id peer, uint64_t n);
int tallies_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void tallies_free(struct profile *p);

/* A group, and how far its words advanced while the profile's processes lived. */
struct tally_group {
	const struct tally **tally;
	size_t n;
	double advance; /* sum over tallies of |step| * executions */
	double error;	/* of that, as a part of it: how much is extrapolated */
};
struct tally_groups {
	struct tally_group *group;
	size_t n;
	size_t instructions;	    /* of all groups */
	const struct tally **tally; /* private: of all groups */
};

/* Who knows the code: whether nothing but tallies changes what this one counts with. */
struct tallies_judge {
	bool (*is_sure)(void *ctx, const struct tally *t);
	bool (*is_own)(void *ctx,
		       const struct tally *t); /* nothing else has a part in what it counts with */
	void *ctx;
};

#define TALLY_SURE 20 /* times that windows saw a word's step */

/* The groups that can be relied on. judge: NULL, then none that counts with registers. -1 without memory. */
int tallies_groups(struct tally_groups *g, const struct profile *p,
		   const struct tallies_judge *judge);
void tallies_groups_free(struct tally_groups *g);

#endif
