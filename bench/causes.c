/* SPDX-License-Identifier: MIT */
/*
 * Pairs of programs that differ in one cause of stalls: causes CAUSE with|without [AMOUNT] does the same work, with the
 * cause and without, in a procedure work_CAUSE, and prints the CPU time of that, in seconds. The difference is what the
 * cause took. "mix" runs several causes one after the other, and prints the time of each.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define WORK __attribute__((noinline, noclone, no_icf))
#define PAGE 4096

static double amount = 1;
static uint64_t state = 88172645463325252, sink;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Called between making the data and working on them. */
static double begun;
static void begin(void)
{
	begun = cpu();
}

static long times(double n)
{
	return (long)(n * amount) + 1;
}

static void *room(size_t n, bool huge)
{
	size_t whole = (n + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1);
	void *p = aligned_alloc(2 << 20, whole);

	if (!p || madvise(p, whole, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		exit(1);
	memset(p, 0, whole);
	return p;
}

/* A cycle through n places in random order, `apart` bytes apart, each on another line of its page if that is a page. */
static void **cycle(size_t n, size_t apart, bool huge)
{
	char *base = room(n * apart, huge);
	uint32_t *order = malloc(n * sizeof(*order));
	void **first = NULL, **last = NULL;

	if (!order)
		exit(1);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i; i--) {
		size_t j = draw() % (i + 1);
		uint32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (size_t i = 0; i < n; i++) {
		size_t k = order[i];
		void **at = (void **)(base + k * apart + (apart >= PAGE ? k / 64 % 64 * 64 : 0));

		if (last)
			*last = at;
		else
			first = at;
		last = at;
	}
	*last = first;
	free(order);
	return first;
}

/* Data: each load's address is what the one before it loaded. */
#define CHASE(name, bytes, without_bytes, rounds) \
	WORK static void work_##name(void **p, long n) \
	{ \
		for (; n; n--) \
			p = *p; \
		sink += (uintptr_t)p; \
	} \
	static void do_##name(bool with) \
	{ \
		void **p = cycle((with ? bytes : without_bytes) / 64, 64, true); \
		begin(); \
		work_##name(p, times(rounds)); \
	}
CHASE(l2, 320 << 10, 16 << 10, 2e8)
CHASE(l3, 6 << 20, 16 << 10, 5e7)
CHASE(memory, 256 << 20, 16 << 10, 1e7)

/* As many lines, which the second level holds: on a page of their own each, or side by side. */
WORK static void work_dtlb(void **p, long n)
{
	for (; n; n--)
		p = *p;
	sink += (uintptr_t)p;
}
static void do_dtlb(bool with)
{
	void **p = cycle(4096, with ? PAGE : 64, false);

	begin();
	work_dtlb(p, times(1e8));
}

/* Branches: of bytes in random order, or sorted. */
WORK static void work_branch(const uint8_t *p, long n)
{
	uint64_t s = 0, t = 0;

	for (long i = 0; i < n; i++) {
		if (p[i & 0xfffff] < 128) {
			s += (uint64_t)i;
			__asm__ volatile("" : "+r"(s));
		} else {
			t ^= (uint64_t)i;
			__asm__ volatile("" : "+r"(t));
		}
	}
	sink += s + t;
}
static int by_value(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}
static void do_branch(bool with)
{
	uint8_t *p = room(1 << 20, true);

	for (int i = 0; i < 1 << 20; i++)
		p[i] = (uint8_t)(draw() >> 33);
	if (!with)
		qsort(p, 1 << 20, 1, by_value);
	begin();
	work_branch(p, times(3e8));
}

/* A word is loaded that was just stored: as one word, or as two halves. */
WORK static void work_forwarding(uint64_t *p, long n, long whole)
{
	uint64_t x = 1;

	for (long i = 0; i < n; i++) {
		if (whole) {
			__asm__ volatile("movq %0, (%1); movl %k0, 8(%1); movq (%1), %0"
					 : "+r"(x)
					 : "r"(p)
					 : "memory");
		} else {
			__asm__ volatile("movl %k0, 4(%1); movl %k0, (%1); movq (%1), %0"
					 : "+r"(x)
					 : "r"(p)
					 : "memory");
		}
	}
	sink += x;
}
static void do_forwarding(bool with)
{
	work_forwarding(room(64, true), times(2e8), !with);
}

/* Units. The rest of the loop is the same. */
#define UNIT(name, one, other, rounds) \
	WORK static void work_##name(long n, long with) \
	{ \
		uint64_t a = 3, b = 5, c = 7, d = 9; \
		if (with) \
			for (long i = 0; i < n; i++) \
				__asm__ volatile(one \
						 : "+a"(a), "+b"(b), "+c"(c), "+d"(d) \
						 : \
						 : "cc", "xmm0", "xmm1"); \
		else \
			for (long i = 0; i < n; i++) \
				__asm__ volatile(other \
						 : "+a"(a), "+b"(b), "+c"(c), "+d"(d) \
						 : \
						 : "cc", "xmm0", "xmm1"); \
		sink += a + b + c + d; \
	} \
	static void do_##name(bool with) \
	{ \
		work_##name(times(rounds), with); \
	}
UNIT(divider, "mov %0, %%r8; or $-256, %0; xor %3, %3; or $1, %1; div %1; add %%r8, %0; add $3, %2",
     "mov %0, %%r8; or $-256, %0; xor %3, %3; or $1, %1; add %1, %0; add %%r8, %0; add $3, %2", 2e8)
UNIT(square_root, "sqrtsd %%xmm0, %%xmm0; addsd %%xmm1, %%xmm0; add $3, %2",
     "addsd %%xmm1, %%xmm0; addsd %%xmm1, %%xmm0; add $3, %2", 1.5e8)
UNIT(multiplier,
     "imul $7, %0, %%r8; imul $7, %1, %%r9; imul $7, %2, %%r10; imul $7, %3, %%r11; "
     "imul $9, %0, %%r8; imul $9, %1, %%r9; imul $9, %2, %%r10; imul $9, %3, %%r11",
     "lea 7(%0), %%r8; lea 7(%1), %%r9; lea 7(%2), %%r10; lea 7(%3), %%r11; "
     "lea 9(%0), %%r8; lea 9(%1), %%r9; lea 9(%2), %%r10; lea 9(%3), %%r11",
     4e8)
UNIT(chain, "imul $7, %0, %0; imul $9, %0, %0; add $3, %2", "add $7, %0; add $9, %0; add $3, %2",
     6e8)

/* Serialisation. */
WORK static void work_lock(uint64_t *p, long n, long with)
{
	if (with)
		for (long i = 0; i < n; i++)
			__asm__ volatile("lock addq $1, (%0); addq $1, 8(%0)"
					 :
					 : "r"(p)
					 : "memory", "cc");
	else
		for (long i = 0; i < n; i++)
			__asm__ volatile("addq $1, (%0); addq $1, 8(%0)"
					 :
					 : "r"(p)
					 : "memory", "cc");
}
static void do_lock(bool with)
{
	work_lock(room(64, true), times(5e8), with);
}

/* A counter of each of two threads: on one line, or on one each. */
WORK static void work_sharing(volatile uint64_t *p, long n)
{
	for (long i = 0; i < n; i++)
		++*p;
}
struct share {
	volatile uint64_t *at;
	long n;
};
static void *share(void *of)
{
	const struct share *s = of;

	work_sharing(s->at, s->n);
	return NULL;
}
static void do_sharing(bool with)
{
	uint64_t *p = room(4096, true);
	struct share s[2] = { { p, times(4e8) }, { p + (with ? 1 : 64), times(4e8) } };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, share, &s[i]))
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/*
 * Code: pieces that jump to one another, `apart` bytes apart, all in one cycle; the first of them counts. Piece k goes on at
 * (5 k + 1) mod n. Pieces a page apart lie on another line of it each.
 */
#define PIECES(name, count, apart, line) \
	__asm__(".text\n.p2align 12\n.type work_" #name ", @function\nwork_" #name ":\n" \
		".set k, 0\n.rept " #count "\n" \
		".org work_" #name " + k * " #apart " + (k % 64) * " #line "\n" \
		".if k == 0\ndec %rdi\njz 9f\n.endif\n" \
		"add $1, %rax\n" \
		".set to, (5 * k + 1) % " #count "\n" \
		"jmp work_" #name " + to * " #apart " + (to % 64) * " #line "\n" \
		".set k, k + 1\n.endr\n" \
		"9: ret\n.size work_" #name ", . - work_" #name "\n"); \
	void work_##name(long rounds);
PIECES(icache, 8192, 64, 0)
PIECES(icache_small, 256, 64, 0)
PIECES(itlb, 1024, 4096, 64)
PIECES(itlb_small, 1024, 64, 0)

static void do_icache(bool with)
{
	if (with)
		work_icache(times(2e4));
	else
		work_icache_small(times(2e4 * 32));
}
static void do_itlb(bool with)
{
	if (with)
		work_itlb(times(3e5));
	else
		work_itlb_small(times(3e5));
}

static const struct {
	const char *name;
	void (*work)(bool with);
	bool mixed;
} causes[] = {
	{ "branch", do_branch, true },
	{ "l2", do_l2, true },
	{ "l3", do_l3, true },
	{ "memory", do_memory, true },
	{ "dtlb", do_dtlb, true },
	{ "forwarding", do_forwarding, true },
	{ "divider", do_divider, true },
	{ "square_root", do_square_root, true },
	{ "multiplier", do_multiplier, true },
	{ "chain", do_chain, true },
	{ "lock", do_lock, true },
	{ "sharing", do_sharing, false },
	{ "icache", do_icache, true },
	{ "itlb", do_itlb, true },
};

int main(int argc, char **argv)
{
	bool with = argc > 2 && !strcmp(argv[2], "with");

	if (argc > 3)
		amount = atof(argv[3]);
	for (size_t i = 0; argc > 2 && i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strcmp(argv[1], "mix") ? strcmp(argv[1], causes[i].name) : !causes[i].mixed)
			continue;
		begin();
		causes[i].work(with);
		printf("%s %.6f\n", causes[i].name, cpu() - begun);
	}
	return sink == 1 || argc < 3;
}
