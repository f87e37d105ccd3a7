/* SPDX-License-Identifier: MIT */
/*
 * Programs with known phases of other kinds than those of bench/known.c. No constant was chosen by them, but causes of errors
 * were looked for in them. Each takes 1 to 4 s, and prints what it computed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PHASE static __attribute__((noinline))

static uint64_t state = 0x2545f4914f6cdd1d, total;

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

/* Tables: a hash table, a sorted array, a heap, a bitmap, buckets. */
PHASE void probes(long n)
{
	const uint32_t mask = (1 << 20) - 1;
	uint64_t *table = calloc(mask + 1, sizeof(*table));

	if (!table)
		exit(1);
	for (long i = 0; i < 500000; i++)
		table[draw() * 0x9e3779b97f4a7c15 >> 44 & mask] = (uint64_t)i + 1;
	while (n-- > 0) {
		uint32_t at = (uint32_t)(draw() >> 40) & mask;

		while (table[at] && table[at] % 7)
			at = (at + 1) & mask;
		total += table[at];
	}
	free(table);
}

PHASE void searches(const uint32_t *v, uint32_t size, long n)
{
	while (n-- > 0) {
		uint32_t key = (uint32_t)(draw() >> 36), low = 0, high = size;

		while (low < high) {
			uint32_t mid = (low + high) / 2;

			if (v[mid] < key)
				low = mid + 1;
			else
				high = mid;
		}
		total += low;
	}
}

PHASE void heap(uint32_t *v, uint32_t size, long n)
{
	while (n-- > 0) {
		uint32_t i = 1, x = (uint32_t)(draw() >> 33);

		for (;;) {
			uint32_t k = 2 * i;

			if (k >= size)
				break;
			k += k + 1 < size && v[k + 1] < v[k];
			if (v[k] >= x)
				break;
			v[i] = v[k];
			i = k;
		}
		v[i] = x;
		total += v[1];
	}
}

PHASE void bits(const uint64_t *v, uint32_t size, long rounds)
{
	while (rounds-- > 0)
		for (uint32_t i = 0; i < size; i++)
			for (uint64_t x = v[i] ^ (uint64_t)rounds; x; x &= x - 1)
				total += 1;
}

PHASE void buckets(uint32_t *to, const uint32_t *from, uint32_t size, long rounds)
{
	while (rounds-- > 0) {
		uint32_t first[257] = { 0 };

		for (uint32_t i = 0; i < size; i++)
			first[(from[i] >> 8 & 255) + 1]++;
		for (int i = 0; i < 256; i++)
			first[i + 1] += first[i];
		for (uint32_t i = 0; i < size; i++)
			to[first[from[i] >> 8 & 255]++] = from[i];
		total += to[7];
	}
}

static void tables(void)
{
	const uint32_t n = 1 << 20;
	uint32_t *v = room(4 * n), *w = room(4 * n);
	uint64_t *b = room(8 * 4096);

	for (uint32_t i = 0; i < n; i++) {
		v[i] = i << 8;
		w[i] = (uint32_t)draw();
	}
	for (int i = 0; i < 4096; i++)
		b[i] = draw();
	probes(15000000);
	searches(v, n, 3000000);
	heap(v, 1 << 12, 10000000);
	bits(b, 4096, 3000);
	buckets(v, w, n, 80);
}

/* Grids: a stencil, a transposition, a sparse matrix, distances, a relaxation that depends on itself. */
PHASE void stencil(double *to, const double *from, int n, long rounds)
{
	while (rounds-- > 0)
		for (int i = 1; i < n - 1; i++)
			for (int j = 1; j < n - 1; j++)
				to[i * n + j] = 0.2 * (from[i * n + j] + from[i * n + j - 1] +
						       from[i * n + j + 1] + from[(i - 1) * n + j] +
						       from[(i + 1) * n + j]);
	total += (uint64_t)to[n + 1];
}

PHASE void transpose(double *to, const double *from, int n, long rounds)
{
	while (rounds-- > 0)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				to[i * n + j] = from[j * n + i];
	total += (uint64_t)to[5];
}

PHASE void sparse(double *y, const double *x, const double *a, const uint32_t *column, int rows,
		  long rounds)
{
	while (rounds-- > 0)
		for (int i = 0; i < rows; i++) {
			double s = 0;

			for (int k = 8 * i; k < 8 * i + 8; k++)
				s += a[k] * x[column[k]];
			y[i] = s;
		}
	total += (uint64_t)y[3];
}

PHASE void edit(const char *s, const char *t, int n, long rounds)
{
	static int row[1024];

	while (rounds-- > 0) {
		for (int j = 0; j <= n; j++)
			row[j] = j;
		for (int i = 1; i <= n; i++) {
			int before = row[0];

			row[0] = i;
			for (int j = 1; j <= n; j++) {
				int x = before + (s[i] != t[j]);

				before = row[j];
				if (row[j] + 1 < x)
					x = row[j] + 1;
				if (row[j - 1] + 1 < x)
					x = row[j - 1] + 1;
				row[j] = x;
			}
		}
		total += (uint64_t)row[n];
	}
}

PHASE void settle(double *v, int n, long rounds)
{
	while (rounds-- > 0)
		for (int i = 1; i < n; i++)
			v[i] = 0.5 * v[i] + 0.25 * v[i - 1] + 1e-3;
	total += (uint64_t)v[n - 1];
}

static void grids(void)
{
	const int n = 1024, rows = 1 << 17;
	double *from = room(8 * (size_t)n * n), *to = room(8 * (size_t)n * n),
	       *a = room(8 * (size_t)rows * 8);
	double *x = room(8 * (size_t)rows), *y = room(8 * (size_t)rows);
	uint32_t *column = room(4 * (size_t)rows * 8);
	char *s = room(1024), *t = room(1024);

	for (int i = 0; i < 8 * rows; i++) {
		column[i] = (uint32_t)draw() % (uint32_t)rows;
		a[i] = 0.1;
	}
	for (int i = 0; i < 1024; i++) {
		s[i] = "abcd"[draw() & 3];
		t[i] = "abcd"[draw() & 3];
	}
	stencil(to, from, n, 250);
	transpose(to, from, n, 60);
	sparse(y, x, a, column, rows, 120);
	edit(s, t, 1000, 120);
	settle(x, 4096, 30000);
}

/* Words: scanning, a hash of each, a list kept in order of use, comparing. */
struct word {
	struct word *next;
	char text[24];
	uint64_t uses;
};

PHASE uint64_t scan(const char *s, long rounds)
{
	uint64_t words = 0;

	while (rounds-- > 0)
		for (const char *p = s; *p; p++)
			words += *p == ' ' && p[1] != ' ';
	return words;
}

PHASE void hashing(const char *s, long rounds)
{
	while (rounds-- > 0) {
		uint32_t h = 5381;

		for (const char *p = s; *p; p++) {
			h = 33 * h ^ (uint8_t)*p;
			if (*p == ' ') {
				total += h;
				h = 5381;
			}
		}
	}
}

PHASE void recent(struct word *list, long n)
{
	while (n-- > 0) {
		char key[24];
		struct word **at = &list->next;

		snprintf(key, sizeof(key), "word%u", (unsigned)(draw() >> 40) & 63);
		while (*at && strcmp((*at)->text, key) != 0)
			at = &(*at)->next;
		if (*at) {
			struct word *w = *at;

			*at = w->next;
			w->next = list->next;
			list->next = w;
			w->uses++;
		}
	}
	total += list->next->uses;
}

PHASE void compare(char *a, char *b, size_t n, long rounds)
{
	while (rounds-- > 0) {
		total += memcmp(a, b, n) == 0;
		a[n - 1] = b[n - 1] = (char)rounds;
		total += strlen(a + 1);
	}
}

static void words(void)
{
	static struct word head, v[64];
	char *s = room(1 << 18), *a = room(1 << 16), *b = room(1 << 16);

	for (int i = 0; i < 64; i++) {
		snprintf(v[i].text, sizeof(v[i].text), "word%d", i);
		v[i].next = i < 63 ? &v[i + 1] : NULL;
	}
	head.next = v;
	for (int i = 0; i < (1 << 18) - 1; i++)
		s[i] = "etaoin shrdlu   "[draw() & 15];
	s[(1 << 18) - 1] = 0;
	a[(1 << 16) - 1] = b[(1 << 16) - 1] = 0;
	total += scan(s, 1500);
	hashing(s, 1200);
	recent(&head, 2000000);
	compare(a, b, (1 << 16) - 1, 150000);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "tables"))
		tables();
	else if (!strcmp(name, "grids"))
		grids();
	else if (!strcmp(name, "words"))
		words();
	else {
		fprintf(stderr, "usage: known_apart tables|grids|words\n");
		return 2;
	}
	printf("%llu\n", (unsigned long long)total);
	return 0;
}
