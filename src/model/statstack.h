/* SPDX-License-Identifier: MIT */
/*
 * StatStack (Eklöv and Hagersten, ISPASS 2010): miss ratios of fully associative LRU caches from reuse times alone.
 *
 * Of the touches between two of a line, each is to a line that is touched again before the second one, or the last to
 * its line: so as many of them are last as there are different lines. The touch j steps before the end is last with
 * the probability S(j) that a reuse time is longer than j, if reuse times are alike everywhere. So a reuse time r is
 * a stack distance of S(1) + … + S(r - 1) on average, and a cache of that many lines misses what has a longer one.
 *
 * S comes from samples of which not all were seen to their end (Kaplan and Meier, 1958): those that were left alive
 * count as long as they were seen.
 */
#ifndef ASSAY_MODEL_STATSTACK_H
#define ASSAY_MODEL_STATSTACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Kaplan-Meier in n buckets: of those alive when bucket b begins, ended[b] ended in it and left[b] were not seen
 * further. Those before `first` are passed over, as if all began there. survival[b]: alive at the end of b, of those
 * alive when `first` begins; from where nobody is known to be alive it stays. Returns up to which bucket it is known.
 */
unsigned survival(const uint64_t *ended, const uint64_t *left, unsigned n, unsigned first,
		  double *survival);

/* S and what it adds up to, by reuse time; linear between. */
struct statstack {
	struct statstack_knot {
		double time, alive, lines;
	} * knot;
	size_t n, cap;
};

/* Adds a knot behind the others; the first one is time 0, alive 1. Time and S are made to rise and to fall. -1 without
 * memory. */
int statstack_add(struct statstack *s, double time, double alive);
/* The share of touches that a cache of so many lines misses. */
double statstack_misses(const struct statstack *s, double lines);
/* S at a time. */
double statstack_alive(const struct statstack *s, double time);
void statstack_fini(struct statstack *s);

#endif
