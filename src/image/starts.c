/* SPDX-License-Identifier: MIT */
#include "image/starts.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT 11 /* bits of one pass of the radix sort */

struct key {
	uint32_t start; /* distance from the lowest start */
	uint32_t i;
};

static uint64_t start_of(const void *record)
{
	uint64_t v;

	memcpy(&v, record, sizeof(v));
	return v;
}

/* Sorts n keys by radix, with room for n behind them. Returns where the sorted keys are. */
static struct key *sort_keys(struct key *from, size_t n, uint64_t range)
{
	struct key *to = from + n;

	for (unsigned shift = 0; shift < 32 && range >> shift; shift += DIGIT) {
		size_t at[1u << DIGIT] = { 0 }, sum = 0;
		struct key *other = from;

		for (size_t i = 0; i < n; i++)
			at[from[i].start >> shift & ((1u << DIGIT) - 1)]++;
		for (size_t d = 0; d < 1u << DIGIT; d++) {
			size_t count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[from[i].start >> shift & ((1u << DIGIT) - 1)]++] = from[i];
		from = to;
		to = other;
	}
	return from;
}

/* Moves each record to its place, cycle by cycle. */
static void move(char *records, size_t size, struct key *key, size_t n)
{
	char first[STARTS_SIZE_MAX];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i, from;

		if (key[i].i == i)
			continue;
		memcpy(first, records + i * size, size);
		while ((from = key[at].i) != i) {
			memcpy(records + at * size, records + from * size, size);
			key[at].i = at;
			at = from;
		}
		memcpy(records + at * size, first, size);
		key[at].i = at;
	}
}

bool starts_sort(void *records, size_t n, size_t size)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct key *keys;

	assert(size >= sizeof(uint64_t) && size <= STARTS_SIZE_MAX);
	for (size_t i = 0; i < n; i++) {
		uint64_t v = start_of((char *)records + i * size);

		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	if (n < 2)
		return true;
	if (high - low > UINT32_MAX || n > UINT32_MAX)
		return false;
	keys = malloc(2 * n * sizeof(*keys));
	if (!keys)
		return false;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct key){ (uint32_t)(start_of((char *)records + i * size) - low),
					(uint32_t)i };
	move(records, size, sort_keys(keys, n, high - low), n);
	free(keys);
	return true;
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = start_of(a), y = start_of(b);

	return (x > y) - (x < y);
}

void starts_order(void *records, size_t n, size_t size)
{
	const char *record = records;
	size_t i = 1;

	while (i < n && start_of(record + (i - 1) * size) <= start_of(record + i * size))
		i++;
	if (i < n && !starts_sort(records, n, size))
		qsort(records, n, size, by_start);
}
