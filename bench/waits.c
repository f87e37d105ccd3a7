/* SPDX-License-Identifier: MIT */
/*
 * Programs that mostly wait, each for something else: what estimates of executions must not take for work. The first
 * argument says which; each takes 0.2 to 4 s, and prints what it computed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		exit(1);
	return p;
}

/* Each load's address is what the one before it loaded, anywhere in 64 MiB. */
static long chase(void)
{
	size_t n = 4 << 20;
	uint32_t *p = room(4 * n, sizeof(*p)), *order = room(n, sizeof(*order)), x = 0;
	long sum = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i; i--) {
		size_t j = draw() % (i + 1);
		uint32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (size_t i = 0; i < n; i++)
		p[4 * order[i]] = order[(i + 1) % n];
	for (long i = 0; i < 30000000; i++) {
		x = p[4 * (size_t)x];
		sum += x;
	}
	return sum;
}

/* Memory at random, without one access waiting for another. */
static long table(void)
{
	size_t n = 1 << 24;
	uint32_t *t = room(n, sizeof(*t));

	for (long i = 0; i < 60000000; i++)
		t[draw() & (n - 1)] += (uint32_t)i;
	return t[5];
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Branches that nobody can predict. */
static long sorting(void)
{
	size_t n = 6000000;
	uint32_t *v = room(n, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = (uint32_t)draw();
	qsort(v, n, sizeof(*v), compare);
	return v[7];
}

static long division(void)
{
	long sum = 0;

	for (long i = 1; i < 300000000; i++)
		sum += (long)((~0ul - (unsigned long)i) / ((unsigned long)i | 1));
	return sum;
}

/* Each operation waits for the one before. */
static long chain(void)
{
	volatile double factor = 1.0000001;
	double x = 1, by = factor;

	for (long i = 0; i < 600000000; i++)
		x = x * by + 1e-9;
	return (long)x;
}

/* Memory in order. */
static long triad(void)
{
	size_t n = 4 << 20;
	double *a = room(n, sizeof(*a)), *b = room(n, sizeof(*b)), *c = room(n, sizeof(*c));

	for (int round = 0; round < 120; round++)
		for (size_t i = 0; i < n; i++)
			a[i] = b[i] + 3 * c[i];
	return (long)a[9];
}

/* Columns: another page each time. */
static long matrix(void)
{
	size_t n = 700;
	double *a = room(n * n, sizeof(*a)), *b = room(n * n, sizeof(*b)), *c = room(n * n, 8);

	for (int round = 0; round < 4; round++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++) {
				double sum = 0;

				for (size_t k = 0; k < n; k++)
					sum += a[i * n + k] * b[k * n + j];
				c[i * n + j] += sum;
			}
	return (long)c[3];
}

/* A single block that waits for nothing but its own results. */
static long mix(void)
{
	long sum = 0;

	for (long i = 0; i < 150000000; i++) {
		uint64_t r = draw();

		sum = r & 1 ? sum + (long)(r >> 3) : sum ^ (long)r;
		sum -= r & 4 ? i : 0;
	}
	return sum;
}

struct node {
	struct node *next;
	long value;
};

static long list(void)
{
	struct node *head = NULL;
	long sum = 0;

	for (long i = 0; i < 300000; i++) {
		struct node *n = room(1, sizeof(*n) + draw() % 200);

		*n = (struct node){ head, i };
		head = n;
	}
	for (int round = 0; round < 60; round++)
		for (struct node *n = head; n; n = n->next)
			sum += n->value;
	return sum;
}

static const struct {
	const char *name;
	long (*run)(void);
} programs[] = { { "chase", chase },	   { "table", table }, { "sorting", sorting },
		 { "division", division }, { "chain", chain }, { "triad", triad },
		 { "matrix", matrix },	   { "mix", mix },     { "list", list } };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(programs[i].name, argv[1])) {
			printf("%ld\n", programs[i].run());
			return 0;
		}
	fprintf(stderr, "usage: waits chase|table|sorting|division|chain|triad|matrix|mix|list\n");
	return 2;
}
