/* SPDX-License-Identifier: MIT */
/* Passes over values, with the CPU's vector instructions where it has them. n: at most SCAN_MAX. */
#ifndef ASSAY_SKETCH_BATCH_SCAN_H
#define ASSAY_SKETCH_BATCH_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_MAX 256
#define SCAN_SIEVE \
	1024 /* counters of a sieve: a full piece of different values puts three or four in each */

/* Returns how often x occurs. */
unsigned scan_count(const uint64_t *v, unsigned n, uint64_t x);
/* Copies the values other than x to `to`, which has room for n. Returns how many there are. */
unsigned scan_others(uint64_t *to, const uint64_t *v, unsigned n, uint64_t x);
/* Removes x from v in place. Returns how many values remain. */
static inline unsigned scan_take(uint64_t *v, unsigned n, uint64_t x)
{
	return scan_others(v, v, n, x);
}
/* The sieve's counter of a value. */
static inline unsigned scan_hash(uint64_t v)
{
	return (uint32_t)(v ^ v >> 32) * 0x9e3779b1u >> 22;
}
/* Writes the counter of each of n values to `which`, and how many values have each counter,
 * modulo 256, to `sieve`. */
void scan_sieve(uint8_t sieve[SCAN_SIEVE], uint16_t *which, const uint64_t *v, unsigned n);
/* The largest of a sieve's counters that are no more than `most`. */
unsigned scan_fullest(const uint8_t sieve[SCAN_SIEVE], uint8_t most);
/* Whether values only rise or only fall, so that no two are equal. Short pieces are not tested. */
bool scan_differ(const uint64_t *v, unsigned n);
/* Shifts n values right and masks them. */
void scan_narrow(uint64_t *to, const uint64_t *v, unsigned n, unsigned shift, uint64_t mask);
/* Transposes n rows that lie `stride` words apart: the k-th words of all rows go to to[k], for
 * the up to SCAN_COLUMNS columns in `words`. Returns false, and does nothing, if the CPU has no
 * instructions that make this worth while. */
#define SCAN_COLUMNS 8
bool scan_turn(uint64_t to[SCAN_COLUMNS][SCAN_MAX], const uint64_t *row, unsigned stride,
	       unsigned words, unsigned n);

#endif
