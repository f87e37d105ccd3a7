/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Rare windows: windows of branches beside the timer's, which begin where a program executes code for the first time.
 *
 * The timer interrupts a program where the program spends its time, so code that runs seldom is hardly ever seen. Page
 * faults are frequent when a program starts and when it enters another part of its work. The kernel counts page faults
 * by a software event, which runs the same BPF program as the timer. Rare windows stand for no time. Only sampler.bpf.c
 * includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_RARE_H
#define ASSAY_SAMPLER_BPF_RARE_H

#include "base/hash.h"

/* period of the events that begin rare windows; the timer's periods are long */
#define RARE_PERIOD 1
#define RARE_PLACES (1 << 16) /* power of two */
#define RARE_OFTEN \
	8 /* after this number of windows at a place, one in RARE_OFTEN page faults begins a window */

const volatile uint64_t cfg_rare_ns =
	0; /* mean time between rare windows of a CPU; 0: there are no rare windows */
const volatile uint64_t cfg_rare_saved = 0; /* time that may be saved up, for programs that begin */
const volatile uint32_t cfg_rare_burst = 0; /* instructions */

/* How many rare windows were asked for at each place, by a hash of the place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RARE_PLACES);
	__type(key, uint32_t);
	__type(value, uint32_t);
} rare_places SEC(".maps");

/* Identifies the place of an instruction by its offset in a page and its bytes: the kernel maps a file at another
 * address in each process, and processes of one program fault at the same places. */
static __always_inline uint32_t rare_hash(uint64_t ip)
{
	uint64_t code = 0;

	if (bpf_probe_read_user(&code, sizeof(code), (const void *)ip))
		code = 0; /* the page with the code is the missing one */
	return (uint32_t)(hash_mix(code ^ ip << 52) >> 40) & (RARE_PLACES - 1);
}

/* Whether a page fault at ip begins a window: the first faults of a place do, then one in RARE_OFTEN. */
static __always_inline bool rare_place(uint64_t ip)
{
	uint32_t at = rare_hash(ip);
	uint32_t *n = bpf_map_lookup_elem(&rare_places, &at);

	if (!n)
		return false;
	*n += 1;
	return *n <= RARE_OFTEN || *n % RARE_OFTEN == 0;
}

/* Whether the CPU's time for rare windows allows another one now; *spent: the moment up to which the CPU's windows are
 * paid for. */
static __always_inline bool rare_wanted(uint64_t *spent, uint64_t ip)
{
	uint64_t now = bpf_ktime_get_ns();

	if (!cfg_rare_ns || *spent > now)
		return false;
	if (!rare_place(ip))
		return false;
	if (*spent + cfg_rare_saved < now)
		*spent = now - cfg_rare_saved;
	*spent += cfg_rare_ns;
	return true;
}

#endif
