/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which windows are run, with `record --policy slots` or within a budget (sampler/budget.h). Only sampler.bpf.c includes this
 * file.
 */
#ifndef ASSAY_SAMPLER_BPF_FILTER_H
#define ASSAY_SAMPLER_BPF_FILTER_H

#include "sampler/bpf/place.h"

const volatile uint32_t cfg_filter = 0; /* whether there is a policy */
const volatile uint32_t cfg_budget = 0; /* whether there is a budget */

uint32_t budget_every = 1; /* N: one window of N is run; user space sets N */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FILTER_PLACES);
	__type(key, uint32_t);
	__type(value, uint64_t); /* an array's elements have 8 bytes at least */
} filter SEC(".maps");

#define FILTER_PASSED 0

/* Draws whether to run the window that begins at an address of an image. Returns the number of windows that the window
 * stands for, or FILTER_PASSED. */
static __always_inline uint32_t filter_draw(uint32_t image, uint64_t addr)
{
	uint32_t place = filter_place(image, addr), level;
	const uint64_t *at = bpf_map_lookup_elem(&filter, &place);

	level = at ? (uint32_t)*at & (FILTER_LEVELS - 1) : 0;
	return bpf_get_prandom_u32() & ((1u << level) - 1) ? FILTER_PASSED : 1u << level;
}

/* Draws whether to run a window within the budget. Returns the same as filter_draw(). */
static __always_inline uint32_t budget_draw(void)
{
	uint32_t every = budget_every;

	return every > 1 && bpf_get_prandom_u32() % every ? FILTER_PASSED : every;
}

static __always_inline uint32_t draw(uint32_t image, uint64_t addr)
{
	if (cfg_filter)
		return filter_draw(image, addr);
	return cfg_budget ? budget_draw() : 1;
}

#endif
