/* SPDX-License-Identifier: MIT */
/*
 * An indirect call that mostly goes to one procedure, and a copy of few sizes: what a compiler makes faster that knows these
 * values (tests/cli/pgo.t).
 */
#include <stddef.h>
#include <string.h>

#define KEEP __attribute__((noinline))

static volatile long sink;
static char from[64], to[64];

KEEP void often(long n)
{
	sink = sink + n;
}

KEEP void seldom(long n)
{
	sink = sink - n;
}

static void (*volatile table[2])(long) = { often, seldom };

KEEP void apply(long n)
{
	for (long i = 0; i < n; i++) {
		table[i % 100 == 0](i);
		memcpy(to, from, (size_t)(sink & 1) + 8);
	}
}

int main(void)
{
	apply(100000);
	return to[0];
}
