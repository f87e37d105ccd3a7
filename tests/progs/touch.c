/* SPDX-License-Identifier: MIT */
/* Touches as many lines of 64 bytes as it says, again and again: touch PATTERN. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE 64
#define ROUNDS 400

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
	for (int i = 0; i < ROUNDS; i++)
		walk(shared + (size_t)arg * 1000 * LINE, 1500, LINE);
	return NULL;
}

/* Each line once, by one thread or the other: what is lost shows in the sum of all intervals. */
static void *once(void *arg)
{
	for (size_t i = 0; i < 100000; i++)
		((volatile char *)shared)[(2 * i + (size_t)arg) * LINE] = 1;
	return NULL;
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

	if (!strcmp(what, "stride")) { /* 3000 lines in each interval */
		char *p = area(1 << 20);

		for (int i = 0; i < ROUNDS; i++)
			walk(p, 3000, LINE);
	} else if (!strcmp(what, "sparse")) { /* 2000, each on a page of its own */
		char *p = area((size_t)1 << 36);

		for (int i = 0; i < ROUNDS; i++)
			walk(p, 2000, 8192 + LINE);
	} else if (!strcmp(what, "window")) { /* 200000 in all */
		walk(area(200000 * LINE), 200000, LINE);
	} else if (!strcmp(what, "two")) { /* 2500, of which 500 are both's */
		two(sweep);
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
	} else if (!strcmp(what, "fork")) { /* the parent 1000, its child 2000 */
		char *p = area(1 << 20);
		int child = fork() == 0;

		for (int i = 0; i < ROUNDS; i++)
			walk(p, child ? 2000 : 1000, LINE);
		if (!child)
			wait(NULL);
	} else {
		return 2;
	}
	return 0;
}
