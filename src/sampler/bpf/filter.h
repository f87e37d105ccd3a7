/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which windows are run, with `record --policy slots`. Only sampler.bpf.c includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_FILTER_H
#define ASSAY_SAMPLER_BPF_FILTER_H

#include "sampler/bpf/place.h"

const volatile uint32_t cfg_filter = 0; /* whether there is a policy */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_PLACES);
	__type(key, uint32_t);
	__type(value, uint64_t); /* an array's elements have 8 bytes at least */
} filter SEC(".maps");

#define FILTER_PASSED ~0u

/* Draws whether the window is run that begins at an address of an image: the logarithm of how many it stands for, or
 * FILTER_PASSED. */
static __always_inline uint32_t filter_draw(uint32_t image, uint64_t addr)
{
	uint32_t place = filter_place(image, addr), level;
	const uint64_t *at = bpf_map_lookup_elem(&filter, &place);

	level = at ? (uint32_t)*at & (FILTER_LEVELS - 1) : 0;
	return bpf_get_prandom_u32() & ((1u << level) - 1) ? FILTER_PASSED : level;
}

#endif
