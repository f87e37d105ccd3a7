/* SPDX-License-Identifier: MIT */
/*
 * Two phases of very different speed, each with a counter of its own in a register: what estimates of a whole program's
 * touches must tell apart. Usage: speeds FAST SLOW
 *   fast  FAST touches of 64 lines, in turns, of which any cache of more than 64 lines misses none but the first
 *   slow  SLOW touches, each of the line that the one before names, of 256 Ki lines in an order without a pattern: a cache of
 *         fewer lines misses them all
 * It prints how many touches of lines it made, and how many of them miss in a cache of 64 KiB.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES (1u << 18)
#define LINE (64 / sizeof(uint32_t))
#define SMALL 64
#define NOINLINE __attribute__((noipa))

NOINLINE static uint32_t fast(const volatile uint32_t *p, uint64_t n)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += p[i % SMALL * LINE];
	return sum;
}

NOINLINE static uint32_t slow(const volatile uint32_t *p, uint64_t n)
{
	uint32_t at = 0;

	for (uint64_t i = 0; i < n; i++)
		at = p[at * LINE];
	return at;
}

int main(int argc, char **argv)
{
	uint64_t most = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t few = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	uint32_t *p = aligned_alloc(64, (size_t)LINES * 64);

	if (!p || argc != 3) {
		fprintf(stderr, "usage: speeds FAST SLOW\n");
		return 2;
	}
	/* a linear congruential generator of full period: one cycle through all lines */
	for (uint32_t i = 0; i < LINES; i++)
		p[i * LINE] = (i * 1664525u + 1013904223u) % LINES;
	if (fast(p, most) + slow(p, few) == 1)
		return 1;
	printf("%lu %lu\n", (unsigned long)(LINES + most + few), (unsigned long)(LINES + few));
	free(p);
	return 0;
}
