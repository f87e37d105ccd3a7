/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Hashes for tables in memory, in the kernel's code too. They do not resist somebody who makes keys collide;
 * base/digest does. */
#ifndef ASSAY_BASE_HASH_H
#define ASSAY_BASE_HASH_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#else
#include "sampler/bpf/types.h"
#endif

/* Multiplicative hash (Knuth, The Art of Computer Programming, volume 3, section 6.4): 2^64 over the golden ratio. The upper
 * bits are the good ones. */
static inline __attribute__((always_inline)) uint64_t hash_mix(uint64_t v)
{
	return v * 0x9e3779b97f4a7c15ull;
}

/* A hash of 1 to 63 bits. */
static inline __attribute__((always_inline)) uint64_t hash_bits(uint64_t v, unsigned bits)
{
	return hash_mix(v) >> (64 - bits);
}

#ifndef __bpf__
#define HASH_BASIS 0xcbf29ce484222325ull /* what hash_bytes() begins with */

/* FNV-1a (Fowler, Noll and Vo) of n bytes, continued from h. */
static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}
#endif

#endif
