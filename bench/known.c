/* SPDX-License-Identifier: MIT */
/*
 * Programs with phases: each runs several loops one after the other, that differ in what an iteration takes by factors of
 * hundreds. The first argument says which program, the second, if any, how much of the usual work. Each takes 1 to 4 s, and
 * prints what it computed.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PHASE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

static double amount = 1;
static uint64_t state = 88172645463325252;
static double total;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void *room(size_t n)
{
	void *p = aligned_alloc(4096, (n + 4095) & ~(size_t)4095);

	if (!p)
		exit(1);
	memset(p, 1, n);
	return p;
}

static long times(double n)
{
	return (long)(n * amount) + 1;
}

/* A cycle through n words, a line each, in random order. */
static uint32_t *cycle(uint32_t n)
{
	uint32_t *p = room((size_t)n * 64), *order = room((size_t)n * 4);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; i; i--) {
		uint32_t j = (uint32_t)(draw() % (i + 1)), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (uint32_t i = 0; i < n; i++)
		p[16 * (size_t)order[i]] = 16 * order[(i + 1) % n];
	free(order);
	return p;
}

/* Loops. */

INLINE uint64_t multiply(long n)
{
	uint64_t x = 3;

	for (long i = 0; i < n; i++)
		x = x * 0x9e3779b97f4a7c15 + 1;
	return x;
}

INLINE uint64_t branch(const uint8_t *p, long n)
{
	uint64_t s = 0;

	for (long i = 0; i < n; i++) {
		if (p[i & 0xfffff] < 128)
			s += (uint64_t)i;
		else
			s ^= (uint64_t)i;
		__asm__ volatile("" : "+r"(s));
	}
	return s;
}

INLINE uint64_t chase(const uint32_t *p, long n)
{
	uint32_t x = 0;

	for (long i = 0; i < n; i++)
		x = p[x];
	return x;
}

INLINE uint64_t divide(uint64_t by, long n)
{
	uint64_t x = ~0ull;

	for (long i = 0; i < n; i++)
		x = (~0ull - (uint64_t)i) / (by + (x & 1));
	return x;
}

INLINE uint64_t forward(volatile char *b, long n)
{
	uint64_t s = 0;

	for (long i = 0; i < n; i++) {
		*(volatile uint32_t *)b = (uint32_t)s;
		*(volatile uint32_t *)(b + 4) = (uint32_t)i;
		s += *(volatile uint64_t *)b;
	}
	return s;
}

INLINE uint64_t alias(volatile char *b, long n)
{
	uint64_t s = 0;

	for (long i = 0; i < n; i++) {
		*(volatile uint64_t *)(b + 8) = s;
		s += *(volatile uint64_t *)(b + 4104);
	}
	return s;
}

INLINE uint64_t gather(const uint32_t *p, uint32_t mask, long n)
{
	uint64_t s = 0, r = 1;

	for (long i = 0; i < n; i++) {
		r = r * 6364136223846793005u + 1442695040888963407u;
		s += p[r >> 32 & mask];
	}
	return s;
}

INLINE double roots(double x, long n)
{
	for (long i = 0; i < n; i++)
		x = sqrt(x + (double)i);
	return x;
}

INLINE uint64_t sum(const uint32_t *p, size_t n, long rounds)
{
	uint64_t s = 0;

	for (long k = 0; k < rounds; k++)
		for (size_t i = 0; i < n; i++)
			s += p[i] ^ (uint64_t)k;
	return s;
}

#define LOOPS(X) \
	X(multiply, 150e6, (n)) \
	X(branch, 40e6, (random_bytes, n)) \
	X(chase, 3e6, (distant, n)) \
	X(divide, 40e6, (7, n)) \
	X(forward, 30e6, (buffer, n)) \
	X(alias, 150e6, (buffer, n)) \
	X(gather, 20e6, (distant, (1 << 24) - 1, n)) \
	X(roots, 30e6, (2, n))

static uint8_t *random_bytes;
static uint32_t *distant;
static char buffer[16384] __attribute__((aligned(4096)));

static void prepare(void)
{
	random_bytes = room(1 << 20);
	for (int i = 0; i < 1 << 20; i++)
		random_bytes[i] = (uint8_t)draw();
	distant = cycle(1 << 20);
}

/* Each loop in a procedure of its own. */
#define X(name, often, arguments) \
	static PHASE void run_##name(double part) \
	{ \
		long n = times(part * (often)); \
		total += (double)name arguments; \
	}
LOOPS(X)
#undef X

static void eight(void)
{
	prepare();
#define X(name, often, arguments) run_##name(1);
	LOOPS(X)
#undef X
}

/* All in one procedure. */
static void inlined(void)
{
	long n;

	prepare();
#define X(name, often, arguments) \
	n = times(often); \
	total += (double)name arguments;
	LOOPS(X)
#undef X
}

/* Round and round, some milliseconds each. */
static void rounds(void)
{
	prepare();
	for (int i = 0; i < 40; i++) {
#define X(name, often, arguments) run_##name(0.025);
		LOOPS(X)
#undef X
	}
}

/* Loops within loops. */
static double a[64][64], b[64][64], c[64][64];

static PHASE void matrix(long n)
{
	for (long k = 0; k < n; k++) {
		for (int i = 0; i < 64; i++)
			for (int j = 0; j < 64; j++) {
				double s = 0;

				for (int l = 0; l < 64; l++)
					s += a[i][l] * b[l][j];
				c[i][j] = s;
			}
		a[k & 63][3] = c[2][k & 63] * 1e-9;
	}
	total += c[1][1];
}

static PHASE void insertion(long n)
{
	uint32_t v[200];

	for (long k = 0; k < n; k++) {
		for (int i = 0; i < 200; i++)
			v[i] = (uint32_t)draw();
		for (int i = 1; i < 200; i++) {
			uint32_t x = v[i];
			int j = i;

			for (; j && v[j - 1] > x; j--)
				v[j] = v[j - 1];
			v[j] = x;
		}
		total += v[100];
	}
}

static PHASE void sieve(long n)
{
	uint8_t *p = room(100000);

	for (long k = 0; k < n; k++) {
		memset(p, 1, 100000);
		for (int i = 2; i < 320; i++)
			for (int j = i * i; p[i] && j < 100000; j += i)
				p[j] = 0;
		total += p[99991];
	}
	free(p);
}

static PHASE void hash(long n)
{
	uint64_t *table = room(8 << 15);

	for (long k = 0; k < n; k++) {
		memset(table, 0, 8 << 15);
		for (uint64_t i = 1; i <= 20000; i++) {
			uint64_t at = i * 0x9e3779b97f4a7c15 >> 49;

			while (table[at])
				at = (at + 1) & 0x7fff;
			table[at] = i;
		}
		total += (double)table[77];
	}
	free(table);
}

static PHASE void collatz(long n)
{
	for (long i = 1; i < n; i++)
		for (uint64_t x = (uint64_t)i; x != 1; total += 1)
			x = x & 1 ? 3 * x + 1 : x / 2;
}

static void nested(void)
{
	matrix(times(2500));
	insertion(times(60000));
	sieve(times(3000));
	hash(times(4000));
	collatz(times(700000));
}

/* Nothing counts: lists, trees, recursion, text. */
struct node {
	struct node *next, *left, *right;
	uint64_t key;
};

static PHASE void lists(struct node *list, long n)
{
	while (n-- > 0)
		for (struct node *p = list; p; p = p->next)
			total += (double)p->key;
}

static PHASE void trees(const struct node *root, long n)
{
	while (n-- > 0) {
		uint64_t key = draw() >> 40;
		const struct node *p = root;

		while (p && p->key != key)
			p = key < p->key ? p->left : p->right;
		total += p != NULL;
	}
}

static PHASE long fibonacci(long n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static PHASE void text(const char *s, long n)
{
	while (n-- > 0) {
		int depth = 0;

		for (const char *p = s; *p; p++)
			depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		total += depth;
	}
}

static PHASE void gcds(long n)
{
	while (n-- > 0) {
		uint64_t x = draw() | 1, y = draw() | 1;

		while (y) {
			uint64_t t = x % y;

			x = y;
			y = t;
		}
		total += (double)x;
	}
}

static void pointers(void)
{
	uint32_t n = 1 << 17;
	struct node *v = room(n * sizeof(*v)), *root = NULL;
	char *s = room(1 << 16);

	for (uint32_t i = 0; i < n; i++) {
		struct node **at = &root, *p = &v[(i * 7919u) % n];

		*p = (struct node){ .next = i + 1 < n ? &v[(i + 1) * 7919u % n] : NULL,
				    .key = draw() >> 40 };
		while (*at)
			at = p->key < (*at)->key ? &(*at)->left : &(*at)->right;
		*at = p;
	}
	for (int i = 0; i < (1 << 16) - 1; i++)
		s[i] = "()abcdef"[draw() & 7];
	s[(1 << 16) - 1] = 0;
	lists(v, times(300));
	trees(root, times(2e6));
	total += (double)fibonacci(36);
	text(s, times(3000));
	gcds(times(1e6));
}

/* Time is in the C library. */
static int compare(const void *x, const void *y)
{
	const uint32_t *p = x, *q = y;

	return (*p > *q) - (*p < *q);
}

static PHASE void sorting(long n)
{
	uint32_t *v = room(4 * 100000);

	while (n-- > 0) {
		for (int i = 0; i < 100000; i++)
			v[i] = (uint32_t)draw();
		qsort(v, 100000, 4, compare);
		total += v[500];
	}
	free(v);
}

static PHASE void copying(long n)
{
	char *from = room(1 << 20), *to = room(1 << 20);

	while (n-- > 0) {
		memcpy(to, from, 1 << 20);
		from[n & 0xfffff] = (char)n;
	}
	total += to[5];
	free(from);
	free(to);
}

static PHASE void printing(long n)
{
	char s[64];

	while (n-- > 0)
		total += snprintf(s, sizeof(s), "%ld %s %x", n, "text", (unsigned)n);
}

static PHASE void parsing(long n)
{
	while (n-- > 0)
		total += (double)strtol("123456789", NULL, 10);
}

static PHASE void allocating(long n)
{
	void *p[64] = { 0 };

	while (n-- > 0) {
		free(p[n & 63]);
		p[n & 63] = malloc(16 + (size_t)(draw() & 1023));
	}
	for (int i = 0; i < 64; i++)
		free(p[i]);
}

static void library(void)
{
	sorting(times(40));
	copying(times(6000));
	printing(times(2.5e6));
	parsing(times(25e6));
	allocating(times(12e6));
}

/* The same loop at four distances from memory. */
static void distances(void)
{
	static const uint32_t lines[] = { 256, 8192, 131072, 2097152 };
	static const double often[] = { 200e6, 60e6, 12e6, 4e6 };
	uint32_t *p[4];

	for (int i = 0; i < 4; i++)
		p[i] = cycle(lines[i]);
	for (int i = 0; i < 4; i++) {
		long n = times(often[i]);

		/* in a loop of its own each */
		if (i == 0)
			total += (double)chase(p[0], n);
		else if (i == 1)
			total += (double)chase(p[1], n);
		else if (i == 2)
			total += (double)chase(p[2], n);
		else
			total += (double)chase(p[3], n);
	}
}

/* Loops over arrays. */
static PHASE void triad(double *x, const double *y, const double *z, size_t n, long rounds_)
{
	while (rounds_-- > 0)
		for (size_t i = 0; i < n; i++)
			x[i] = y[i] + 3 * z[i];
	total += x[5];
}

static PHASE void dot(const double *y, const double *z, size_t n, long rounds_)
{
	while (rounds_-- > 0) {
		double s = 0;

		for (size_t i = 0; i < n; i++)
			s += y[i] * z[i];
		total += s;
	}
}

static PHASE void prefix(uint32_t *p, size_t n, long rounds_)
{
	while (rounds_-- > 0)
		for (size_t i = 1; i < n; i++)
			p[i] += p[i - 1];
	total += p[n - 1];
}

static PHASE void histogram(const uint8_t *p, size_t n, long rounds_)
{
	uint32_t h[256] = { 0 };

	while (rounds_-- > 0)
		for (size_t i = 0; i < n; i++)
			h[p[i]]++;
	total += h[77];
}

static PHASE void polynomial(double x, long n)
{
	double s = 0;

	for (long i = 0; i < n; i++) {
		x += 1e-9;
		s += ((((x * 0.3 + 1) * x - 0.7) * x + 0.1) * x - 5) * x + exp(-x);
	}
	total += s;
}

static void arrays(void)
{
	double *x = room(8 << 21), *y = room(8 << 21), *z = room(8 << 21);

	prepare();
	triad(x, y, z, 1 << 21, times(60));
	dot(y, z, 1 << 12, times(40000));
	prefix(distant, 1 << 14, times(20000));
	histogram(random_bytes, 1 << 20, times(250));
	polynomial(0.5, times(30e6));
	total += (double)sum(distant, 1 << 20, times(200));
}

/* Calls through pointers, and an interpreter. */
static uint64_t add_3(uint64_t x)
{
	return x + 3;
}
static uint64_t mix(uint64_t x)
{
	return (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
}
static uint64_t slow(uint64_t x)
{
	return x / 3 + ~x / 7;
}
static uint64_t (*volatile const calls[])(uint64_t) = { add_3, mix, slow, add_3 };

static PHASE void indirect(long n)
{
	uint64_t x = 1;

	for (long i = 0; i < n; i++)
		x = calls[i & 3](x);
	total += (double)x;
}

static PHASE void interpreter(const uint8_t *code, long n)
{
	uint64_t r[4] = { 1, 2, 3, 4 };

	for (long i = 0; i < n; i++) {
		uint8_t op = code[i & 0xfff];

		switch (op >> 4 & 7) {
		case 0:
			r[op & 3] += r[op >> 2 & 3];
			break;
		case 1:
			r[op & 3] ^= r[op >> 2 & 3];
			break;
		case 2:
			r[op & 3] *= 3;
			break;
		case 3:
			r[op & 3] >>= 1;
			break;
		case 4:
			r[op & 3] = r[op >> 2 & 3] + 5;
			break;
		case 5:
			r[op & 3] |= 1;
			break;
		case 6:
			r[op & 3] /= (r[op >> 2 & 3] | 1);
			break;
		default:
			r[op & 3] -= 7;
			break;
		}
	}
	total += (double)(r[0] + r[1] + r[2] + r[3]);
}

static PHASE void crc(const uint8_t *p, long n)
{
	uint32_t x = ~0u;

	for (long i = 0; i < n; i++) {
		x ^= p[i & 0xffff];
		for (int k = 0; k < 8; k++)
			x = x >> 1 ^ (x & 1 ? 0xedb88320 : 0);
	}
	total += x;
}

static void dispatch(void)
{
	prepare();
	indirect(times(60e6));
	interpreter(random_bytes, times(40e6));
	crc(random_bytes, times(15e6));
	run_chase(1);
	run_multiply(1);
}

/* Two threads, two phases each. */
static void *thread(void *number)
{
	if (number) {
		run_divide(1.5);
		run_chase(1.5);
	} else {
		run_multiply(1.5);
		run_branch(1.5);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[2];

	prepare();
	for (intptr_t i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)i))
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = { { "eight", eight },	     { "inlined", inlined },   { "rounds", rounds },
		 { "nested", nested },	     { "pointers", pointers }, { "library", library },
		 { "distances", distances }, { "arrays", arrays },     { "dispatch", dispatch },
		 { "threads", threads } };

int main(int argc, char **argv)
{
	if (argc > 2)
		amount = strtod(argv[2], NULL);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
			programs[i].run();
			printf("%g\n", total);
			return 0;
		}
	fprintf(stderr, "usage: known PROGRAM [AMOUNT]; programs:");
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		fprintf(stderr, " %s", programs[i].name);
	fprintf(stderr, "\n");
	return 2;
}
