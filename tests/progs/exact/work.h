/* SPDX-License-Identifier: MIT */
/*
 * Something to compute while signals come.
 */
#ifndef EXACT_WORK_H
#define EXACT_WORK_H

#include "cases.h"

NOINLINE static uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint64_t half(uint64_t x)
{
	return x / 2 + 1;
}
static uint64_t twice(uint64_t x)
{
	return x * 3;
}
static uint64_t turn(uint64_t x)
{
	return x << 7 | x >> 57;
}

/* Calls, indirect calls, divisions, floating point, string instructions, library calls: no state may be lost. */
NOINLINE static uint64_t work(int rounds)
{
	static uint64_t (*const f[])(uint64_t) = { half, twice, turn };
	static char text[4096], other[4096];
	uint64_t h = 1;
	double x = 1;

	for (int i = 0; i < rounds; i++) {
		h = mix(h, f[h % 3](h));
		h = mix(h, fib((uint64_t)(i % 12)));
		x = x * 1.0000001 + (double)(h & 15);
		if (i % 16 == 0) {
			size_t n = sizeof text;
			char *to = text;

			__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(i) : "memory");
			n = sizeof text / 8;
			char *from = text;
			to = other;
			__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
			h = mix(h, (uint64_t)other[i % 4096]);
			snprintf(text, sizeof text, "%d %.6f", i, x);
			h = mix(h, strlen(text));
		}
	}
	return mix(h, (uint64_t)x);
}

#endif
