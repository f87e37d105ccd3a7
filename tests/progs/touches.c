/* SPDX-License-Identifier: MIT */
/*
 * Touches of memory and branches that are known. Usage: touches BYTES ROUNDS
 *   walk  a load of each line of BYTES, ROUNDS times over
 *   flip  10,000 branches, taken every other time; toss: as many, at random
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE 64
#define BRANCHES 10000
#define NOINLINE __attribute__((noipa))

NOINLINE static unsigned walk(const volatile unsigned char *p, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i += LINE)
		sum += p[i];
	return sum;
}

static volatile unsigned taken;

NOINLINE static void flip(void)
{
	for (unsigned i = 0; i < BRANCHES; i++)
		if (i & 1)
			taken++;
}

NOINLINE static void toss(void)
{
	uint32_t x = 1;

	for (unsigned i = 0; i < BRANCHES; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		if (x & 0x10000)
			taken++;
	}
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 0, sum = 0;
	unsigned char *p = aligned_alloc(LINE, (n + LINE - 1) & ~(size_t)(LINE - 1));

	if (!p)
		return 1;
	for (unsigned i = 0; i < rounds; i++)
		sum += walk(p, n);
	flip();
	toss();
	printf("%u %u\n", sum & 0, taken & 0);
	return 0;
}
