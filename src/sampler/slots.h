/* SPDX-License-Identifier: MIT */
/*
 * A collection policy for the sampler: windows are passed over where the values that they would show are known well enough
 * (`record --policy slots`). The algorithm is that of Zilles and Sohi's value profiler ("A Programmable Co-processor for
 * Profiling", HPCA 2001; docs/methods/coprocessor.md), which does the same with the instructions of a program.
 *
 *   slot     an operand of an instruction that is being judged: an active value; how often it came, and did not
 *   masked   an operand that is known: its active value hardly ever fails, or hardly ever comes, or came as often as in the
 *            slot before, or was judged SLOTS_ROUNDS times. It has no slot, until it is judged again: after a pause, which
 *            is twice as long each time that the operand did as before
 *   part     where more operands want slots than there are, only those whose hash has certain low bits get one, by turns of
 *            as many looks as there are parts
 *   place    512 bytes of code that windows begin in (sampler/bpf/place.h). Where hardly any value of these windows is of an
 *            operand that is not masked, the filter lets only one of two run, then of four, of eight
 *
 * What is passed over is a random choice at a known rate, and a window that is run weighs as many as it stands for: so shares
 * are the same on average, whatever the policy knows.
 *
 * Nothing here depends on the clock or the kernel: the same windows make the same filter.
 */
#ifndef ASSAY_SAMPLER_SLOTS_H
#define ASSAY_SAMPLER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/bpf/place.h"
#include "stream/window.h"

#define SLOTS 8192	/* power of two */
#define SLOTS_WAYS 4	/* slots that an operand may have, by its hash */
#define SLOTS_ENOUGH 32 /* observations after which an operand is judged */
#define SLOTS_WINDOW \
	4 /* observations of one window that count: those in a loop are not independent */
#define SLOTS_HIGH \
	95 /* per cent: an operand is known if its active value has at least this share, */
#define SLOTS_LOW 15	/* or has at most this share, */
#define SLOTS_AGREE 10u /* or its share changed by at most this number of points, */
#define SLOTS_ROUNDS 4	/* or its slot was judged this number of times */
#define SLOTS_REPLACE \
	31 /* a slot is replaced if a random number from 0 to this exceeds the number of its observations */
#define SLOTS_LOOK 2048 /* windows that are run between two looks at masked operands */
#define SLOTS_PAUSE 32	/* most looks that a masked operand waits */
#define SLOTS_THRASH 8	/* slots thrash if more than one observation in this number replaces one */
#define SLOTS_PARTS 6	/* most bits of the partition */
#define PLACE_WINDOWS 8 /* windows after which a place is judged */
#define PLACE_LITTLE 5 /* per cent of useful values below which fewer windows of a place are run, */
#define PLACE_MUCH \
	20 /* per cent of useful values above which all windows of a place are run again */

struct slots;

struct slots_counts {
	uint64_t operands; /* operands that were met */
	uint64_t masked;   /* number of operands that are masked now */
	uint64_t judged, reopened, replaced, failed, thrashed;
};

/* filter: FILTER_PLACES words, which the policy writes and the caller frees. NULL without memory. */
struct slots *slots_new(uint64_t *filter);
void slots_free(struct slots *s);
/* Takes a window that was run. -1 without memory. */
int slots_window(struct slots *s, const struct window *w);
void slots_count(const struct slots *s, struct slots_counts *n);
/* Whether the operand is masked. */
bool slots_masked(const struct slots *s, struct site_id site, int operand);

#endif
