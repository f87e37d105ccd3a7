/* SPDX-License-Identifier: MIT */
/*
 * Latencies of instructions in chains, each of which waits for the one before. The unit is a cycle, by a
 * chain of 64-bit multiplications, which take three on all x86-64 cores since 2008. Prints one line a
 * chain: its name, and cycles of a link; two of divisions, which wait for their unit alone. Then chains of loads from memory of several sizes, in large pages
 * if the kernel gives them: each line once, in random order. Then chains of loads from a line of each of some
 * pages, by which small pages take longer than large ones: what page walks cost.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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
							 : "xmm0", "xmm1", "xmm2", "rax", "rcx", \
							   "rdx", "cc", "memory"); \
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
/* Divisions that depend on nothing but each other's unit. */
CHAIN(div_64, "mov $987654321, %%eax\n xor %%edx, %%edx\n mov $12345, %%ecx\n div %%rcx\n")
CHAIN(div_32, "mov $987654321, %%eax\n xor %%edx, %%edx\n mov $12345, %%ecx\n div %%ecx\n")
/* Chains through a place of the stack, below the red zone. */
CHAIN(stack_mov, "mov %%rax, -256(%%rsp)\n mov -256(%%rsp), %%rax\n")
CHAIN(stack_add, "mov -256(%%rsp), %%rax\n add $1, %%rax\n mov %%rax, -256(%%rsp)\n")
CHAIN(stack_movsd, "movsd %%xmm0, -256(%%rsp)\n movsd -256(%%rsp), %%xmm0\n")
CHAIN(stack_addsd, "movsd -256(%%rsp), %%xmm0\n addsd %%xmm1, %%xmm0\n movsd %%xmm0, -256(%%rsp)\n")

#define LINE 64
#define PAGE (2ul << 20)
#define SMALL 4096ul
#define LOADS 2000000

/* The k-th of places that are `apart` bytes apart: on another line of its page each, if that is a page. */
static void **place(char *at, size_t k, size_t apart)
{
	return (void **)(at + k * apart + (apart == SMALL ? k * 7 % (SMALL / LINE) * LINE : 0));
}

/* A chain through n places. */
static void **chain_of(size_t n, size_t apart, int advice)
{
	size_t bytes = (n * apart + PAGE - 1) & ~(PAGE - 1);
	char *at = aligned_alloc(PAGE, bytes);
	uint32_t *order = malloc(n * sizeof(*order));
	uint64_t seed = 88172645463325252ull;

	if (!at || !order)
		abort();
	madvise(at, bytes, advice);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) { /* Sattolo's algorithm: one cycle */
		uint32_t other = order[i];
		size_t j;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		j = seed % i;
		order[i] = order[j];
		order[j] = other;
	}
	for (size_t i = 0; i < n; i++)
		*place(at, i, apart) = place(at, order[i], apart);
	free(order);
	return (void **)at;
}

static double load(size_t n, size_t apart, int advice)
{
	void **first = chain_of(n, apart, advice), **at = first;
	double least = 1;

	for (int k = 0; k < TRIES; k++) {
		double t = now();

		for (long i = 0; i < LOADS; i++)
			at = *(void **volatile *)at;
		t = now() - t;
		least = k && t / LOADS < least ? t / LOADS : least;
	}
	free(first);
	return least;
}

int main(void)
{
	static const size_t kib[] = { 16, 512, 4096, 8192, 1 << 18 };
	static const size_t pages[] = { 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17 };
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
		    { "div, 64 bits", div_64 },
		    { "div, 32 bits", div_32 },
		    { "mov, stack", stack_mov },
		    { "add, stack", stack_add },
		    { "movsd, stack", stack_movsd },
		    { "addsd, stack", stack_addsd } };
	double cycle;

	__asm__ volatile("xorps %%xmm0, %%xmm0\nxorps %%xmm1, %%xmm1\nxorps %%xmm2, %%xmm2" ::
				 : "xmm0", "xmm1", "xmm2");
	cycle = multiply() / 3;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		printf("%-16s %6.2f cycles\n", all[i].name, all[i].chain() / cycle);
	for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++)
		printf("load, %6zu KiB %6.1f cycles\n", kib[i],
		       load((kib[i] << 10) / LINE, LINE, MADV_HUGEPAGE) / cycle);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		printf("walk, %6zu pages %5.1f cycles\n", pages[i],
		       (load(pages[i], SMALL, MADV_NOHUGEPAGE) -
			load(pages[i], SMALL, MADV_HUGEPAGE)) /
			       cycle);
	return 0;
}
