/* SPDX-License-Identifier: MIT */
/*
 * StatStack (Eklöv and Hagersten, ISPASS 2010): miss ratios of fully associative LRU caches from
 * reuse times alone.
 *
 * Each touch between two touches of a line is to a line that is touched again before the second
 * one, or it is the last touch of its line in between; the number of last touches is the number of
 * different lines. If reuse times are alike everywhere, the touch j steps before the end is the
 * last one with probability S(j) that a reuse time is longer than j. So a reuse time r is a stack
 * distance of S(1) + ... + S(r - 1) on average, and a cache of n lines misses touches with a
 * distance above n.
 *
 * S is estimated from samples that may end before the reuse (Kaplan and Meier, 1958): such a
 * censored sample counts for as long as it was observed.
 */
#ifndef ASSAY_MODEL_STATSTACK_H
#define ASSAY_MODEL_STATSTACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Kaplan-Meier estimate in n buckets: of those alive when bucket b begins, ended[b] ended in it and
 * left[b] were censored. Buckets before `first` are skipped, as if all began there. survival[b]:
 * the share still alive at the end of b, of those alive when `first` begins; it stays constant once
 * nobody is known to be alive. Returns up to which bucket it is known.
 */
unsigned survival(const uint64_t *ended, const uint64_t *left, unsigned n, unsigned first,
		  double *survival);

/* S and its integral, by reuse time, linear between knots. */
struct statstack {
	struct statstack_knot {
		double time, alive, lines;
	} * knot;
	size_t n, cap;
};

/* Appends a knot; the first one is time 0, alive 1. Times are made to rise and S to fall. -1
 * without memory. */
int statstack_add(struct statstack *s, double time, double alive);
/* The share of touches that a cache of that many lines misses. */
double statstack_misses(const struct statstack *s, double lines);
/* S at that time. */
double statstack_alive(const struct statstack *s, double time);
void statstack_fini(struct statstack *s);

#endif
