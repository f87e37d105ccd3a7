/* SPDX-License-Identifier: MIT */
/*
 * A program whose semi-invariants are known: what `values` must find, and with which shares.
 *
 *   load_95     loads a value that is 0x3c8 in 95 % of its executions (exactly 19 of 20)
 *   arg_zero    its second argument is always 0, its first counts
 *   load_random loads values that are uniform in 0 … 2^32
 *   load_four   loads four values with shares 50, 25, 12.5 and 12.5 %
 *
 * Usage: invariants [ROUNDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noipa)) /* nothing is known of a call's arguments */

static uint32_t table_95[20], table_four[8], table_random[4096];
static volatile uint64_t sink;

NOINLINE static uint64_t load_95(const uint32_t *t, uint64_t i)
{
	uint64_t v = t[i];

	return v * 3 + i;
}

NOINLINE static uint64_t load_random(const uint32_t *t, uint64_t i)
{
	uint64_t v = t[i];

	return v ^ i;
}

NOINLINE static uint64_t load_four(const uint32_t *t, uint64_t i)
{
	uint64_t v = t[i];

	return v + i;
}

NOINLINE static uint64_t arg_zero(uint64_t x, uint64_t zero)
{
	return x * 5 + zero;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000000, x = 88172645463325252u;
	uint64_t sum = 0;

	for (int i = 0; i < 20; i++)
		table_95[i] = 0x3c8;
	table_95[7] = 0x1234;
	for (int i = 0; i < 8; i++)
		table_four[i] = i < 4 ? 10 : i < 6 ? 20 : i == 6 ? 30 : 40;
	for (int i = 0; i < 4096; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		table_random[i] = (uint32_t)(x >> 16);
	}
	for (uint64_t i = 0; i < rounds; i++) {
		sum += load_95(table_95, i % 20);
		sum += load_random(table_random, i * 40503 % 4096);
		sum += load_four(table_four, i * 5 % 8);
		sum += arg_zero(sum, 0);
	}
	sink = sum;
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
