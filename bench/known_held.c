/* SPDX-License-Identifier: MIT */
/*
 * Programs with known phases that are held out of bench/known.c and bench/known_apart.c, by which causes of errors were
 * found: an interpreter and checksums, strings of the C library, functions of numbers, a tree and its memory, sorting,
 * recursion. Each takes 1 to 3 s, and prints what it computed.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PHASE static __attribute__((noinline))

static uint64_t state = 0x9e3779b97f4a7c15, total;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void *room(size_t n)
{
	void *p = malloc(n);

	if (!p)
		exit(1);
	memset(p, 1, n);
	return p;
}

/* An interpreter, checksums, and a cellular automaton. */
enum {
	ADD,
	SUB,
	MUL,
	LOADI,
	JNZ,
	MOVE,
	XOR,
	HALT
};

PHASE uint64_t run(const uint8_t *code)
{
	uint64_t r[8] = { 0 };

	for (const uint8_t *p = code;; p += 4) {
		switch (p[0]) {
		case ADD:
			r[p[1]] = r[p[2]] + r[p[3]];
			break;
		case SUB:
			r[p[1]] = r[p[2]] - r[p[3]];
			break;
		case MUL:
			r[p[1]] = r[p[2]] * r[p[3]];
			break;
		case LOADI:
			r[p[1]] = (uint64_t)p[2] << p[3];
			break;
		case JNZ:
			if (r[p[1]])
				p = code + 4 * p[2] - 4;
			break;
		case MOVE:
			r[p[1]] = r[p[2]];
			break;
		case XOR:
			r[p[1]] = r[p[2]] ^ r[p[3]];
			break;
		case HALT:
			return r[0];
		}
	}
}

PHASE uint32_t crc(const uint8_t *p, size_t n, long rounds)
{
	static uint32_t t[256];
	uint32_t c = ~0u;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t x = i;

		for (int k = 0; k < 8; k++)
			x = x & 1 ? x >> 1 ^ 0xedb88320 : x >> 1;
		t[i] = x;
	}
	while (rounds-- > 0)
		for (size_t i = 0; i < n; i++)
			c = t[(c ^ p[i]) & 255] ^ c >> 8;
	return c;
}

PHASE uint32_t adler(const uint8_t *p, size_t n, long rounds)
{
	uint32_t a = 1, b = 0;

	while (rounds-- > 0)
		for (size_t i = 0; i < n; i++) {
			a += p[i];
			if (a >= 65521)
				a -= 65521;
			b += a;
			if (b >= 65521)
				b -= 65521;
		}
	return b << 16 | a;
}

PHASE uint64_t life(uint8_t *a, uint8_t *b, int n, long rounds)
{
	while (rounds-- > 0) {
		for (int y = 1; y < n - 1; y++)
			for (int x = 1; x < n - 1; x++) {
				int s = 0;

				for (int dy = -1; dy <= 1; dy++)
					for (int dx = -1; dx <= 1; dx++)
						if (dx || dy)
							s += a[(y + dy) * n + x + dx];
				b[y * n + x] = s == 3 || (s == 2 && a[y * n + x]);
			}
		uint8_t *t = a;

		a = b;
		b = t;
	}
	return a[n + 3];
}

static void interp(void)
{
	static const uint8_t code[] = { LOADI, 1, 200, 17, LOADI, 2, 1, 0, LOADI, 3, 7, 0,
					ADD,   0, 0,   1,  XOR,	  4, 0, 3, MUL,	  0, 4, 3,
					SUB,   1, 1,   2,  JNZ,	  1, 3, 0, HALT,  0, 0, 0 };
	uint8_t *b = room(1 << 20), *l = room(512 * 512), *m = calloc(512, 512);

	for (int i = 0; i < 1 << 20; i++)
		b[i] = (uint8_t)draw();
	for (int i = 0; i < 512 * 512; i++)
		l[i] = draw() % 3 == 0;
	total += run(code);
	total += crc(b, 1 << 20, 250);
	total += adler(b, 1 << 20, 300);
	total += life(l, m, 512, 100);
}

/* Strings. */
PHASE uint64_t fnv(const char *s, long n)
{
	uint64_t x = 0;

	while (n-- > 0) {
		uint64_t h = 14695981039346656037ull;

		for (const char *p = s; *p; p++)
			h = (h ^ (uint8_t)*p) * 1099511628211ull;
		x += h;
	}
	return x;
}

PHASE uint64_t copies(char *to, const char *from, long n)
{
	uint64_t x = 0;

	while (n-- > 0) {
		size_t k = (size_t)(draw() & 1023);

		memcpy(to, from, k);
		to[k] = 0;
		x += strlen(to);
	}
	return x;
}

PHASE uint64_t finds(const char *s, long n)
{
	uint64_t x = 0;

	while (n-- > 0) {
		const char *p = strstr(s, "needle");

		x += p ? (uint64_t)(p - s) : 1;
		p = strchr(s, 'z');
		x += p ? 1 : 0;
	}
	return x;
}

PHASE uint64_t numbers(long n)
{
	char b[32];
	uint64_t x = 0;

	while (n-- > 0) {
		snprintf(b, sizeof(b), "%ld", n * 7919);
		x += strtoul(b, NULL, 10);
	}
	return x;
}

PHASE uint64_t reverse(char *s, long n)
{
	size_t k = strlen(s);

	while (n-- > 0)
		for (size_t i = 0; i < k / 2; i++) {
			char c = s[i];

			s[i] = s[k - 1 - i];
			s[k - 1 - i] = c;
		}
	return (uint64_t)s[0];
}

static void strings(void)
{
	char *s = room(4096), *t = room(4096);

	for (int i = 0; i < 4095; i++)
		s[i] = "abcdefghijklmnop"[draw() & 15];
	s[4095] = 0;
	memcpy(s + 4000, "needle", 6);
	total += fnv(s, 100000);
	total += copies(t, s, 20000000);
	total += finds(s, 500000);
	total += numbers(8000000);
	total += reverse(s, 200000);
}

/* Functions of numbers. */
PHASE double sines(double *v, int n, long rounds)
{
	double s = 0;

	while (rounds-- > 0)
		for (int i = 0; i < n; i++)
			s += sin(v[i]) * cos(v[i]);
	return s;
}

PHASE void product(double *c, const double *a, const double *b, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double s = 0;

			for (int k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
}

PHASE double powers(double *v, int n, long rounds)
{
	double s = 0;

	while (rounds-- > 0)
		for (int i = 0; i < n; i++)
			s += pow(v[i], 1.7) + log(v[i]);
	return s;
}

PHASE double roots(double *v, int n, long rounds)
{
	double s = 0;

	while (rounds-- > 0)
		for (int i = 0; i < n; i++) {
			double x = v[i], y = x;

			for (int k = 0; k < 4; k++)
				y = 0.5 * (y + x / y);
			s += y;
		}
	return s;
}

PHASE int mandel(int n)
{
	int x = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double a = 0, b = 0, ca = 3.0 * i / n - 2, cb = 2.0 * j / n - 1;
			int k = 0;

			for (; k < 100 && a * a + b * b < 4; k++) {
				double t = a * a - b * b + ca;

				b = 2 * a * b + cb;
				a = t;
			}
			x += k;
		}
	return x;
}

static void trig(void)
{
	int n = 400;
	double *a = room(8 * 160000), *b = room(8 * 160000), *c = room(8 * 160000);

	for (int i = 0; i < n * n; i++) {
		a[i] = (double)(draw() & 0xffff) / 1000 + 1;
		b[i] = a[i] * 0.5;
	}
	double s = sines(a, n * n, 120);

	for (int k = 0; k < 10; k++)
		product(c, a, b, n);
	s += powers(a, n * n, 80);
	s += roots(a, n * n, 100);
	s += mandel(900);
	total += (uint64_t)fabs(s + c[5]);
}

/* A tree, and blocks of memory. */
struct node {
	struct node *l, *r;
	uint64_t key;
};

PHASE struct node *insert(struct node *t, uint64_t key)
{
	struct node **p = &t;

	while (*p)
		p = key < (*p)->key ? &(*p)->l : &(*p)->r;
	*p = malloc(sizeof(**p));
	if (!*p)
		exit(1);
	**p = (struct node){ NULL, NULL, key };
	return t;
}

PHASE uint64_t walk(const struct node *t)
{
	return t ? t->key + walk(t->l) + walk(t->r) : 0;
}

PHASE void drop(struct node *t)
{
	if (t) {
		drop(t->l);
		drop(t->r);
		free(t);
	}
}

PHASE uint64_t lookups(const struct node *t, long n)
{
	uint64_t x = 0;

	while (n-- > 0) {
		uint64_t k = draw();
		const struct node *p = t;

		while (p && p->key != k)
			p = k < p->key ? p->l : p->r, x++;
	}
	return x;
}

PHASE uint64_t blocks(long n)
{
	static char *v[256];
	uint64_t x = 0;

	while (n-- > 0) {
		uint64_t d = draw(), k = d & 255;

		free(v[k]);
		v[k] = malloc((d >> 8 & 511) + 1);
		if (!v[k])
			exit(1);
		v[k][0] = (char)n;
		x += (uint64_t)v[k][0];
	}
	return x;
}

static void tree(void)
{
	for (int k = 0; k < 20; k++) {
		struct node *t = NULL;

		for (int i = 0; i < 100000; i++)
			t = insert(t, draw());
		for (int i = 0; i < 8; i++)
			total += walk(t);
		total += lookups(t, 300000);
		drop(t);
	}
	total += blocks(20000000);
}

/* Sorting. */
static int up(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

PHASE void fill(uint32_t *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = (uint32_t)draw();
}

PHASE void insertion(uint32_t *v, int n)
{
	for (int i = 1; i < n; i++) {
		uint32_t x = v[i];
		int j = i;

		while (j > 0 && v[j - 1] > x) {
			v[j] = v[j - 1];
			j--;
		}
		v[j] = x;
	}
}

PHASE void shell(uint32_t *v, int n)
{
	for (int g = n / 2; g; g = g == 2 ? 1 : g * 5 / 11)
		for (int i = g; i < n; i++) {
			uint32_t x = v[i];
			int j = i;

			for (; j >= g && v[j - g] > x; j -= g)
				v[j] = v[j - g];
			v[j] = x;
		}
}

PHASE void radix(uint32_t *v, uint32_t *w, int n)
{
	for (int s = 0; s < 32; s += 8) {
		int c[257] = { 0 };

		for (int i = 0; i < n; i++)
			c[(v[i] >> s & 255) + 1]++;
		for (int i = 0; i < 256; i++)
			c[i + 1] += c[i];
		for (int i = 0; i < n; i++)
			w[c[v[i] >> s & 255]++] = v[i];
		uint32_t *t = v;

		v = w;
		w = t;
	}
}

static void sorts(void)
{
	int n = 200000;
	uint32_t *v = room(4 * (size_t)n), *w = room(4 * (size_t)n);

	for (int k = 0; k < 30; k++) {
		fill(v, n);
		qsort(v, (size_t)n, 4, up);
		total += v[5];
	}
	for (int k = 0; k < 2; k++) {
		fill(v, 30000);
		insertion(v, 30000);
		total += v[7];
	}
	for (int k = 0; k < 30; k++) {
		fill(v, n);
		shell(v, n);
		total += v[9];
	}
	for (int k = 0; k < 150; k++) {
		fill(v, n);
		radix(v, w, n);
		total += v[9];
	}
	for (long i = 0; i < 8000000; i++) {
		uint32_t key = (uint32_t)draw();

		total += bsearch(&key, v, 4096, 4, up) != NULL;
	}
}

/* Recursion. */
PHASE uint64_t fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

PHASE unsigned ack(unsigned m, unsigned n)
{
	return !m ? n + 1 : !n ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}

PHASE int queens(int n, unsigned c, unsigned l, unsigned r)
{
	int x = 0;
	unsigned full = (1u << n) - 1;

	if (c == full)
		return 1;
	for (unsigned f = full & ~(c | l | r); f; f &= f - 1) {
		unsigned b = f & -f;

		x += queens(n, c | b, (l | b) << 1, (r | b) >> 1);
	}
	return x;
}

PHASE void hanoi(int n, int a, int b, int c)
{
	if (!n)
		return;
	hanoi(n - 1, a, c, b);
	total += (uint64_t)(a * b);
	hanoi(n - 1, c, b, a);
}

PHASE uint64_t gcds(long n)
{
	uint64_t x = 0;

	while (n-- > 0) {
		uint64_t a = draw() | 1, b = draw() >> 20 | 1;

		while (b) {
			uint64_t t = a % b;

			a = b;
			b = t;
		}
		x += a;
	}
	return x;
}

static void recursion(void)
{
	total += fib(42);
	total += ack(3, 9);
	total += ack(3, 9);
	total += (uint64_t)queens(13, 0, 0, 0);
	hanoi(26, 1, 2, 3);
	total += gcds(4000000);
}

int main(int argc, char **argv)
{
	const char *p = argc > 1 ? argv[1] : "";

	if (!strcmp(p, "interpreter"))
		interp();
	else if (!strcmp(p, "strings"))
		strings();
	else if (!strcmp(p, "trig"))
		trig();
	else if (!strcmp(p, "tree"))
		tree();
	else if (!strcmp(p, "sorts"))
		sorts();
	else if (!strcmp(p, "recursion"))
		recursion();
	else
		return 2;
	printf("%llu\n", (unsigned long long)total);
	return 0;
}
