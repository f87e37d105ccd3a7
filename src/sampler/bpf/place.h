/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The filter of `record --policy slots`: how many windows that would begin in a place share one window that is run. A
 * place is 512 bytes of an image's code; the filter has a word for each hash of a place, the logarithm to base 2. User
 * space writes the filter (sampler/slots.h), the kernel side reads it. Two places with the same hash share a word: both
 * are thinned alike. Each window that is run says how many it stands for, so weights stay right.
 */
#ifndef ASSAY_SAMPLER_BPF_PLACE_H
#define ASSAY_SAMPLER_BPF_PLACE_H

#include "base/hash.h"

#define PLACE_BITS 9
#define FILTER_BITS 16
#define FILTER_PLACES (1u << FILTER_BITS)
#define FILTER_LEVELS 4 /* shares of windows that are run: all, or one in 2, 4 or 8 */

/* Returns the filter's word for an address in an image. */
static inline __attribute__((always_inline)) uint32_t filter_place(uint32_t image, uint64_t addr)
{
	return (uint32_t)hash_bits((uint64_t)image << 42 ^ addr >> PLACE_BITS, FILTER_BITS);
}

#endif
