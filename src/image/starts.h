/* SPDX-License-Identifier: MIT */
/*
 * Tens of thousands of records of a file, each of which begins with the address where it starts, put in order.
 */
#ifndef ASSAY_IMAGE_STARTS_H
#define ASSAY_IMAGE_STARTS_H

#include <stdbool.h>
#include <stddef.h>

#define STARTS_SIZE_MAX 64

/* Ascending by the uint64_t that each of n records of `size` bytes, STARTS_SIZE_MAX at most, begins with; what is equal
 * stays in order. False, and nothing is moved: no memory, or they lie 4 GiB and more apart. */
bool starts_sort(void *records, size_t n, size_t size);

#endif
