/* SPDX-License-Identifier: MIT */
/*
 * Tallies: words of memory in which the program itself counts.
 *
 * An instruction that loads a word, adds the same constant each time, and stores it (x->n++, *budget -= 4), tells how
 * often it ran: two windows that see the word at two times see two values, and their difference over the step is the exact
 * number of executions in between, independent of how many windows there are and where they begin.
 *
 *   tally  the storing instruction: its step, how often windows saw it add that, or something else
 *   word   process and address, as long as they are remembered: last value, its time, and who advanced it last
 *   gap    from one window that saw a word to the next one: how far the word advanced, or that it was reset. A word
 *          that is reset again and again is still good for gaps that are much shorter than the time between resets, so
 *          gaps are kept by their length.
 *   group  tallies that advance the same words, and so share their advance
 *
 * The number of remembered words is limited. If one instruction counts in many words (a counter in each object), few gaps
 * are seen for the number of times that windows saw one of them.
 */
#ifndef ASSAY_OBSERVE_TALLIES_H
#define ASSAY_OBSERVE_TALLIES_H

#include "observe/profile.h"

#define TALLY_OCTAVES 24 /* octaves of lengths: less than 2^17 ns, less than 2^18 and so on */
#define TALLY_PEERS 4

struct tally_gaps {
	uint64_t n;		  /* gaps in which the word advanced */
	uint64_t back;		  /* gaps at whose end the word had been reset */
	uint64_t time, back_time; /* ns, of advancing gaps and of the others */
	double advance;		  /* advance of the words, in the direction of the step */
};

/* Number of gaps that began with a value stored by another tally. */
struct tally_peer {
	struct site_id site;
	uint64_t n;
};

struct tally {
	struct site_id key;
	int64_t step;
	uint64_t agreed, differed; /* additions of its step, and of something else */
	uint64_t seen;		   /* windows that saw one of its words */
	/* times that another instruction was seen to store to the word after the tally did; and
	 * peers beyond TALLY_PEERS */
	uint64_t strangers;
	const struct tally_gaps *gaps; /* TALLY_OCTAVES of them; written by tally_own_gaps() */
	struct tally_peer peer[TALLY_PEERS]; /* n = 0: the entry is empty */
	/* private: representative of the tallies that count with one register */
	struct tally *leader;
	/* private: number of times that it continued from another's value */
	uint64_t joined;
	/* private: a set of the instructions that loaded its word within a window that saw it advance,
	 * by a bit of their hash */
	uint64_t readers;
	UT_hash_handle hh;
};

int tallies_window(struct profile *p, const struct window *w);
/* The shortest gap of the i-th octave, in ns. */
uint64_t tally_octave(unsigned i);
/* Whether the tally nearly always adds the same step, seen at least `often` times. */
bool tally_is_sure(const struct tally *t, uint64_t often);
/* Finds or makes the entry; NULL without memory. */
struct tally *tallies_get(struct profile *p, struct site_id id);
/* The gaps of a tally that saw none, which are all zero. */
extern const struct tally_gaps tally_no_gaps[TALLY_OCTAVES];
/* The tally's gaps for writing; made if it saw none. NULL without memory. */
struct tally_gaps *tally_own_gaps(struct tally *t);
/* Adds the gaps of all lengths. */
void tally_gaps_add(struct tally_gaps *to, const struct tally_gaps *from);
/* Adds another recording's counts, without peers. -1 without memory. */
int tally_add(struct tally *t, const struct tally *more);
void tally_add_peer(struct tally *t, struct site_id peer, uint64_t n);
int tallies_merge(struct profile *dst, const struct profile *src, const uint32_t *map);
void tallies_free(struct profile *p);

/* A group, and the advance of its words while the profile's processes lived. */
struct tally_group {
	const struct tally **tally;
	size_t n;
	double advance; /* sum over tallies of |step| * executions */
	double error;	/* relative error of the advance: the part that is extrapolated */
	double gaps,
		resets; /* used gaps, and the share of them at whose end a word had been reset */
};
struct tally_groups {
	struct tally_group *group;
	size_t n;
	size_t instructions;	    /* instructions of all groups */
	const struct tally **tally; /* private: tallies of all groups */
};

/* The judge knows the code: whether only tallies change the counter of a tally. */
struct tallies_judge {
	bool (*is_sure)(void *ctx, const struct tally *t);
	bool (*is_own)(void *ctx, const struct tally *t); /* nothing else can change the counter */
	/* control hardly passes from one to the other: a word of both serves them in turn */
	bool (*are_apart)(void *ctx, const struct tally *a, const struct tally *b);
	void *ctx;
};

#define TALLY_SURE 20 /* observations of a word's step after which it is sure */

/* Finds the groups that can be relied on. judge: NULL: no counters in registers. -1 without
 * memory. */
int tallies_groups(struct tally_groups *g, const struct profile *p,
		   const struct tallies_judge *judge);
void tallies_groups_free(struct tally_groups *g);

#endif
