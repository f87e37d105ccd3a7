/* SPDX-License-Identifier: MIT */
/* Touches as many lines of 64 bytes as it says, again and again: touch PATTERN [ROUNDS]. */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE 64
static int rounds = 400;

static char *area(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

/* One access to each of n lines: nothing else in memory. */
static void walk(volatile char *p, size_t n, size_t stride)
{
	for (size_t i = 0; i < n; i++)
		p[i * stride] = 1;
}

static char *shared;

static void *sweep(void *arg)
{
	for (int i = 0; i < rounds; i++)
		walk(shared + (size_t)arg * 1000 * LINE, 1500, LINE);
	return NULL;
}

static void *sweep_apart(void *arg)
{
	for (int i = 0; i < rounds; i++)
		walk(shared + (size_t)arg * 1500 * LINE, 1500, LINE);
	return NULL;
}

/* Each line once, by one thread or the other: what is lost shows in the sum of all intervals. */
static void *once(void *arg)
{
	for (size_t i = 0; i < 100000; i++)
		((volatile char *)shared)[(2 * i + (size_t)arg) * LINE] = 1;
	return NULL;
}

/* One walks, the other puts new memory in the place of the old. */
static void *replace(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		if (!arg)
			walk(shared, 1000, LINE);
		else if (mmap(shared, 1000 * LINE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != shared)
			exit(1);
	}
	return NULL;
}

/* One walks, the other maps memory and touches it at once: each time a line, on a page of its own. */
static void *grow(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		if (!arg)
			walk(shared, 1000, LINE);
		else
			*(volatile char *)area(4096) = 1;
	}
	return NULL;
}

/* Lanes 0, 2, 4, 6 of each eight lines are read: so many. */
__attribute__((target("avx2"))) static void gather(const int *p, size_t n)
{
	const __m256i index = _mm256_set_epi32(112, 96, 80, 64, 48, 32, 16, 0);
	const __m256i mask = _mm256_set_epi32(0, -1, 0, -1, 0, -1, 0, -1);
	__m256i sum = _mm256_setzero_si256();

	for (size_t i = 0; i < n; i += 4)
		sum = _mm256_add_epi32(sum,
				       _mm256_mask_i32gather_epi32(_mm256_setzero_si256(),
								   p + 32 * i, index, mask, 4));
	__asm__ volatile("" : : "x"(sum));
}

__attribute__((target("avx512f"))) static void scatter(int *p, size_t n)
{
	const __m512i index = _mm512_set_epi32(240, 224, 208, 192, 176, 160, 144, 128, 112, 96, 80,
					       64, 48, 32, 16, 0);

	for (size_t i = 0; i < n; i += 4)
		_mm512_mask_i32scatter_epi32(p + 64 * i, 0x1248, index, index, 4);
}

static void two(void *(*f)(void *))
{
	pthread_t t[2];

	shared = area(LINE << 18);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, f, (void *)i);
	for (size_t i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 2)
		rounds = atoi(argv[2]);
	if (!strcmp(what, "stride")) { /* 3000 lines in each interval */
		char *p = area(1 << 20);

		for (int i = 0; i < rounds; i++)
			walk(p, 3000, LINE);
	} else if (!strcmp(what, "sparse")) { /* 2000, each on a page of its own */
		char *p = area((size_t)1 << 36);

		for (int i = 0; i < rounds; i++)
			walk(p, 2000, 8192 + LINE);
	} else if (!strcmp(what, "reserved")) { /* 2000, of 4 TiB */
		char *p = area((size_t)1 << 42);

		for (int i = 0; i < rounds; i++)
			walk(p, 2000, (size_t)1 << 31);
	} else if (!strcmp(what, "window")) { /* 200000 in all */
		walk(area(200000 * LINE), 200000, LINE);
	} else if (!strcmp(what, "two")) { /* 2500, of which 500 are both's */
		two(sweep);
	} else if (!strcmp(what, "apart")) { /* 3000, each thread its own */
		two(sweep_apart);
	} else if (!strcmp(what, "once")) { /* 200000 in all */
		two(once);
	} else if (!strcmp(what, "free")) { /* none of its 1000 is left */
		for (int i = 0; i < 2000; i++) {
			char *p = area(1000 * LINE);

			walk(p, 1000, LINE);
			munmap(p, 1000 * LINE);
		}
	} else if (!strcmp(what, "fixed")) { /* where lines may be marked */
		char *p = mmap((void *)0x200000000000, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		printf("%s\n", p == MAP_FAILED ? "refused" : "mapped");
	} else if (!strcmp(what, "low")) { /* 1000: half where marks of one thread are */
		char *there = (char *)0x20000000000, *p = area(1 << 20);

		walk(p, 500, LINE);
		if (mmap(there, 1 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != there)
			return 1;
		walk(there, 500, LINE);
	} else if (!strcmp(what, "changing")) { /* code of 200 lines, time and again other code */
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < 100; i++)
			for (int k = 0; k < 200; k++) {
				p[k * LINE] = (char)(0xb8 + i % 2); /* mov eax or ecx, 0; ret */
				p[k * LINE + 5] = (char)0xc3;
				((void (*)(void))(void *)(p + k * LINE))();
			}
	} else if (!strcmp(what, "fork")) { /* the parent 1000, its child 2000 */
		char *p = area(1 << 20);
		int child = fork() == 0;

		for (int i = 0; i < rounds; i++)
			walk(p, child ? 2000 : 1000, LINE);
		if (!child)
			wait(NULL);
	} else if (!strcmp(what, "exec")) { /* 1000, then 3000 */
		walk(area(1 << 20), 1000, LINE);
		execl("/proc/self/exe", argv[0], "stride", NULL);
	} else if (!strcmp(what, "replace")) {
		two(replace);
	} else if (!strcmp(what, "grow")) { /* 1000, and one a round */
		two(grow);
	} else if (!strcmp(what, "prefetch")) { /* none */
		char *p = area(1 << 20);

		for (int i = 0; i < 1000; i++)
			__builtin_prefetch(p + i * LINE);
	} else if (!strcmp(what, "kernel")) { /* none; the kernel 1500 for it */
		struct iovec part[2];
		int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
		char *p = area(1 << 20);

		part[0] = (struct iovec){ p + 4000 * LINE, 300 * LINE };
		part[1] = (struct iovec){ p + 5000 * LINE, 200 * LINE };
		if (read(zero, p, 700 * LINE) != 700 * LINE ||
		    writev(null, part, 2) != 500 * LINE ||
		    pread(zero, p + 2000 * LINE, 300 * LINE, 0) != 300 * LINE)
			return 1;
	} else if (!strcmp(what, "gather")) { /* 2000 */
		gather((int *)area(1 << 20), 2000);
	} else if (!strcmp(what, "scatter")) { /* 2000 */
		if (!__builtin_cpu_supports("avx512f"))
			return 77;
		scatter((int *)area(1 << 20), 2000);
	} else if (!strcmp(what, "stop")) { /* a million, and waits */
		walk(area(1000000 * LINE), 1000000, LINE);
		raise(SIGSTOP);
	} else {
		return 2;
	}
	return 0;
}
