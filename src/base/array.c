/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 8 /* elements for which a new array has room */

void *array_reserved(void *v, size_t *cap, size_t n, size_t size, size_t max)
{
	size_t room;

	if (v && n <= *cap)
		return v;
	if (max > PTRDIFF_MAX / size)
		max = PTRDIFF_MAX / size;
	if (n > max)
		return NULL;
	room = *cap > max / 2 ? max : 2 * *cap;
	if (room < LEAST && LEAST <= max)
		room = LEAST;
	if (room < n)
		room = n;
	v = reallocarray(v, room, size);
	if (v)
		*cap = room;
	return v;
}

void *array_doubled(void *v, size_t n, size_t size)
{
	return n & (n - 1) ? v : reallocarray(v, n ? 2 * n : 1, size);
}

void *array_widened(void *v, size_t n, size_t to, size_t size)
{
	char *wide;

	if (v && to <= n)
		return v;
	wide = reallocarray(v, to ? to : 1, size);
	if (wide)
		memset(wide + n * size, 0, (to > n ? to - n : 0) * size);
	return wide;
}
