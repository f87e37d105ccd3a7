/* SPDX-License-Identifier: MIT */
/* Passes over values, with the CPU's vector instructions where it has them. n: at most SCAN_MAX. */
#ifndef ASSAY_SKETCH_BATCH_SCAN_H
#define ASSAY_SKETCH_BATCH_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_MAX 256

/* How often x occurs. */
unsigned scan_count(const uint64_t *v, unsigned n, uint64_t x);
/* The values other than x, to `to`, which has room for n. Returns how many. */
unsigned scan_others(uint64_t *to, const uint64_t *v, unsigned n, uint64_t x);
/* … in place. */
static inline unsigned scan_take(uint64_t *v, unsigned n, uint64_t x)
{
	return scan_others(v, v, n, x);
}
/* They rise or fall all the way, so that no two are equal. For few of them it is not looked at. */
bool scan_differ(const uint64_t *v, unsigned n);

#endif
