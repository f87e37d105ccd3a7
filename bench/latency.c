/* SPDX-License-Identifier: MIT */
/*
 * Latencies of instructions in chains, each of which waits for the one before. The unit is a cycle, by a
 * chain of 64-bit multiplications, which take three on all x86-64 cores since 2008. Prints one line a
 * chain: its name, and cycles of a link.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 100000
#define TRIES 9
#define LINKS 20

#define TEN(link) link link link link link link link link link link

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The least time of several tries: of a link, in seconds. */
#define CHAIN(name, link) \
	static double name(void) \
	{ \
		double least = 1; \
		for (int k = 0; k < TRIES; k++) { \
			double t = now(); \
			for (int i = 0; i < ROUNDS; i++) \
				__asm__ volatile(TEN(link) TEN(link):: \
							 : "xmm0", "xmm1", "xmm2", "rax", "cc", \
							   "memory"); \
			t = now() - t; \
			least = t < least ? t : least; \
		} \
		return least / ROUNDS / LINKS; \
	}

CHAIN(multiply, "imul %%rax, %%rax\n")
CHAIN(add, "add %%rax, %%rax\n")
CHAIN(addpd, "addpd %%xmm1, %%xmm0\n")
CHAIN(addsd, "addsd %%xmm1, %%xmm0\n")
CHAIN(subps, "subps %%xmm1, %%xmm0\n")
CHAIN(mulpd, "mulpd %%xmm1, %%xmm0\n")
CHAIN(maxsd, "maxsd %%xmm1, %%xmm0\n")
CHAIN(addpd_pxor, "addpd %%xmm1, %%xmm0\n pxor %%xmm2, %%xmm0\n")
/* Chains through a place of the stack, below the red zone. */
CHAIN(stack_mov, "mov %%rax, -256(%%rsp)\n mov -256(%%rsp), %%rax\n")
CHAIN(stack_add, "mov -256(%%rsp), %%rax\n add $1, %%rax\n mov %%rax, -256(%%rsp)\n")
CHAIN(stack_movsd, "movsd %%xmm0, -256(%%rsp)\n movsd -256(%%rsp), %%xmm0\n")
CHAIN(stack_addsd, "movsd -256(%%rsp), %%xmm0\n addsd %%xmm1, %%xmm0\n movsd %%xmm0, -256(%%rsp)\n")

int main(void)
{
	static const struct {
		const char *name;
		double (*chain)(void);
	} all[] = { { "add", add },
		    { "addpd", addpd },
		    { "addsd", addsd },
		    { "subps", subps },
		    { "mulpd", mulpd },
		    { "maxsd", maxsd },
		    { "addpd, pxor", addpd_pxor },
		    { "mov, stack", stack_mov },
		    { "add, stack", stack_add },
		    { "movsd, stack", stack_movsd },
		    { "addsd, stack", stack_addsd } };
	double cycle;

	__asm__ volatile("xorps %%xmm0, %%xmm0\nxorps %%xmm1, %%xmm1\nxorps %%xmm2, %%xmm2" ::
				 : "xmm0", "xmm1", "xmm2");
	cycle = multiply() / 3;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		printf("%-12s %5.2f cycles\n", all[i].name, all[i].chain() / cycle);
	return 0;
}
