/* SPDX-License-Identifier: MIT */
#include "cpu/memory.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "cpu/penalties.h"

#define LINE (1ul << MACHINE_LINE)
#define SMALL (16ul << 10) /* bytes that the first level holds */
#define LOADS 500	   /* of one chain */
#define CHAINS 3	   /* of which the quickest tells: others may have been interrupted */
#define TRIES 2	       /* of each time, of which the least counts: something may have run once */
#define LEAST_GONE 0.1 /* least part of data whose loss is told from chance */
#define STEEPNESS \
	2.4 /* of the logistic function; 0.7 is the standard deviation of a normal one that is as steep */
#define FIRST_LOAD 1		/* ns of a load from the first level, about */
#define SECOND_MOST (4ul << 20) /* largest second level that is measured */
#define SIZE(second) ((second) > 2ul << 20 ? 4 * (second) : 8ul << 20) /* bytes that are used */
#define PAGE (1ul << MACHINE_PAGE)
#define PAGES \
	1024 /* small pages that are used: the second TLB holds them, and caches the entries of their tables */

static double now(void)
{
	return (double)clock_ns(CLOCK_MONOTONIC);
}

/* The next place of a chain: what was loaded, which is zero, makes it wait for the load. */
static uint64_t next(uint64_t x, uint64_t loaded)
{
	return x * 6364136223846793005ul + 1442695040888963407ul + loaded;
}

/* The offset of a line that x chooses. */
static size_t line_of(uint64_t x, size_t lines)
{
	return (size_t)((x >> 32) * lines >> 32) * LINE;
}

static void flush(const volatile uint8_t *at)
{
	__asm__ volatile("clflush %0" : : "m"(*at));
}

static void fence(void)
{
	__asm__ volatile("mfence" : : : "memory");
}

/* The time of a load in a chain through random lines of the first n bytes, in ns; the least of several. */
static double chase(const uint8_t *at, size_t n, bool from_memory)
{
	static uint64_t seed = 88172645463325252ul;
	double least = INFINITY;

	for (int k = 0; k < CHAINS; k++) {
		uint64_t x = seed += 0x9e3779b97f4a7c15ul;
		double t;

		for (int i = 0; from_memory && i < LOADS; i++)
			flush(at + line_of(x = next(x, 0), n / LINE));
		fence();
		x = seed;
		t = now();
		for (int i = 0; i < LOADS; i++)
			x = next(x, *(const volatile uint64_t *)(at + line_of(x, n / LINE)));
		__asm__ volatile("" : : "r"(x));
		t = (now() - t) / LOADS;
		least = t < least ? t : least;
	}
	return least;
}

/* The time of a line when n bytes are read one after the other, in ns. */
static double sweep(const uint8_t *at, size_t n)
{
	uint64_t sum = 0;
	double t = now();

	for (size_t i = 0; i < n; i += LINE)
		sum += *(const volatile uint64_t *)(at + i);
	__asm__ volatile("" : : "r"(sum));
	return (now() - t) * LINE / (double)n;
}

/* Leaves data alone for some time. Asleep, this thread would leave its CPU to others, which a running program does not. */
static void leave_alone(double ns)
{
	double t = now();

	while (now() - t < ns)
		;
}

/* The part of n bytes that is gone after they were left alone for that time. */
static double part_gone(const uint8_t *at, size_t n, double ns, double near, double far)
{
	sweep(at, n);
	sweep(at, n);
	leave_alone(ns);
	return (chase(at, n, false) - near) / (far - near);
}

/* How often a second holds the time after which half of the data are gone. The part that is gone is a logistic function of the
 * logarithm of time; of the two times, that with the part nearer to a half tells. */
static double find_refills(const uint8_t *at, size_t n, double near, double far)
{
	double gone[2] = { 1, 1 }, ns = CPU_MEMORY_WAIT, half;
	int k;

	for (int i = 0; i < TRIES; i++) {
		gone[0] = fmin(gone[0], part_gone(at, n, ns / 4, near, far));
		gone[1] = fmin(gone[1], part_gone(at, n, ns, near, far));
	}
	if (gone[1] < LEAST_GONE)
		return 0;
	k = fabs(gone[0] - 0.5) < fabs(gone[1] - 0.5) ? 0 : 1;
	half = fmin(1 - LEAST_GONE, gone[k]);
	return 1e9 / (k ? ns : ns / 4) * pow(half / (1 - half), 1 / STEEPNESS);
}

/* The time of a load in a chain through all small pages, in ns: each waits for the one before. */
static double visit(const uint8_t *at)
{
	uint64_t i = 0;
	double t = now();

	for (int k = 0; k < PAGES; k++) {
		i = (i * 141 + 77) % PAGES; /* comes by each of them, because 141 is 1 modulo 4 */
		i += *(const volatile uint64_t *)(at + i * PAGE + i * LINE * 7 % PAGE);
	}
	__asm__ volatile("" : : "r"(i));
	return (now() - t) / PAGES;
}

/* The time of a page walk, in ns: loads take that much longer once the TLBs were emptied, as they are when rights change. 0:
 * it cannot be told. */
static double page_walk(void)
{
	uint8_t *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	double with = INFINITY, without = INFINITY;
	bool ok;

	if (at == MAP_FAILED)
		return 0;
	ok = !madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		at[i * PAGE] = 0;
	for (int k = 0; k < CHAINS && ok; k++) {
		visit(at);
		without = fmin(without, visit(at));
		ok = !mprotect(at, PAGES * PAGE, k % 2 ? PROT_READ | PROT_WRITE : PROT_READ);
		with = fmin(with, visit(at));
	}
	munmap(at, PAGES * PAGE);
	return ok ? fmax(0, with - without) : 0;
}

static bool measure(struct cpu_memory *to, const uint8_t *at, size_t second)
{
	const size_t size = SIZE(second);
	double base,
		both; /* of the loads from twice the second level's size, that level has some */

	sweep(at, SMALL);
	base = chase(at, SMALL, false) - FIRST_LOAD;
	sweep(at, 2 * second);
	to->near_line = sweep(at, 2 * second);
	both = chase(at, 2 * second, false);
	sweep(at, size); /* whose end the second level has */
	to->near = chase(at, size - 2 * second, false) - base;
	to->far = chase(at, size, true) - base;
	to->refills = find_refills(at, 2 * second, both, to->far + base);
	for (size_t i = 0; i < size; i += LINE)
		flush(at + i);
	fence();
	to->far_line = sweep(at, size);
	to->walk = page_walk();
	return base > 0 && to->near > FIRST_LOAD && to->far > to->near && to->near_line > 0 &&
	       to->far_line > 0;
}

bool cpu_memory_measure(struct cpu_memory *to, uint64_t second)
{
	const size_t size = SIZE(second);
	uint8_t *at;
	bool ok;

	if (second < SMALL || second > SECOND_MOST)
		return false;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	madvise(at, size, MADV_HUGEPAGE);
	memset(at, 0, size);
	ok = measure(to, at, second);
	munmap(at, size);
	return ok;
}
