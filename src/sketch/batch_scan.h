/* SPDX-License-Identifier: MIT */
/* Passes over values, with the CPU's vector instructions where it has them. n: at most SCAN_MAX. */
#ifndef ASSAY_SKETCH_BATCH_SCAN_H
#define ASSAY_SKETCH_BATCH_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_MAX 256
#define SCAN_SIEVE \
	1024 /* counters of a sieve: a full piece of different values has three or four in one */

/* How often x occurs. */
unsigned scan_count(const uint64_t *v, unsigned n, uint64_t x);
/* The values other than x, to `to`, which has room for n. Returns how many. */
unsigned scan_others(uint64_t *to, const uint64_t *v, unsigned n, uint64_t x);
/* … in place. */
static inline unsigned scan_take(uint64_t *v, unsigned n, uint64_t x)
{
	return scan_others(v, v, n, x);
}
/* The sieve's counter of a value. */
static inline unsigned scan_hash(uint64_t v)
{
	return (uint32_t)(v ^ v >> 32) * 0x9e3779b1u >> 22;
}
/* … of n values, to `which`; how many have each, modulo 256, to `sieve`. */
void scan_sieve(uint8_t sieve[SCAN_SIEVE], uint16_t *which, const uint64_t *v, unsigned n);
/* The largest of a sieve's counters that are no more than `most`. */
unsigned scan_fullest(const uint8_t sieve[SCAN_SIEVE], uint8_t most);
/* They rise or fall all the way, so that no two are equal. For few of them it is not looked at. */
bool scan_differ(const uint64_t *v, unsigned n);
/* n values, each shifted right and masked. */
void scan_narrow(uint64_t *to, const uint64_t *v, unsigned n, unsigned shift, uint64_t mask);
/* Of n rows, `stride` words from one to the next, the first up to SCAN_COLUMNS of `words`: the k-th ones of all to to[k].
 * False: the CPU has nothing that makes it worth while, and nothing was done. */
#define SCAN_COLUMNS 8
bool scan_turn(uint64_t to[SCAN_COLUMNS][SCAN_MAX], const uint64_t *row, unsigned stride,
	       unsigned words, unsigned n);

#endif
