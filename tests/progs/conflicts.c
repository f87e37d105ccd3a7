/* SPDX-License-Identifier: MIT */
/*
 * A program whose conflicts are known, in each round of a loop:
 *
 *   full     stores 8 bytes, loads them two instructions later
 *   partial  stores 4 bytes, loads 8 that begin there; what is loaded is part of what is stored next, so that each
 *            round waits for the one before, on any CPU
 *   alias    stores, and loads what lies 8192 bytes further
 *
 * Usage: conflicts [ROUNDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t room[2048] __attribute__((aligned(4096)));

#define KIND(name, store, load) \
	__attribute__((noipa)) static uint64_t name(uint64_t *p, uint64_t n) \
	{ \
		uint64_t sum = 0, t; \
\
		for (uint64_t i = 0; i < n; i++) \
			__asm__ volatile(store "\n\tnop\n\t" load "\n\tadd %1, %0" \
					 : "+r"(sum), "=&r"(t) \
					 : "r"(p), "r"(i) \
					 : "memory", "cc"); \
		return sum; \
	}
KIND(full, "mov %3, 64(%2)", "mov 64(%2), %1")
KIND(partial, "movl %k0, 128(%2)", "mov 128(%2), %1")
KIND(alias, "mov %3, 192(%2)", "mov 8384(%2), %1")

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;

	printf("%lu\n", (unsigned long)(full(room, n) + partial(room, n) + alias(room, n)));
	return 0;
}
