/* SPDX-License-Identifier: MIT */
/* Sorts tens of thousands of records, each of which begins with its start address. */
#ifndef ASSAY_IMAGE_STARTS_H
#define ASSAY_IMAGE_STARTS_H

#include <stdbool.h>
#include <stddef.h>

#define STARTS_SIZE_MAX 64

/* Sorts n records of `size` bytes (at most STARTS_SIZE_MAX) in ascending order of the uint64_t
 * that each begins with; equal ones keep their order. False, and nothing is moved: no memory, or
 * the starts are 4 GiB or more apart. */
bool starts_sort(void *records, size_t n, size_t size);
/* Sorts them in any case; equal ones may change places. */
void starts_order(void *records, size_t n, size_t size);

#endif
