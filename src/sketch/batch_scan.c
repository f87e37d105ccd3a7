/* SPDX-License-Identifier: MIT */
#include "sketch/batch_scan.h"

#include <immintrin.h>

#define DIFFER_FROM 64 /* values */

static bool vectors(void)
{
	static signed char can = -1;

	if (can < 0)
		can = !!__builtin_cpu_supports("avx512f");
	return can;
}

static unsigned count_plain(const uint64_t *v, unsigned n, uint64_t x)
{
	unsigned c = 0;

	for (unsigned i = 0; i < n; i++)
		c += v[i] == x;
	return c;
}

__attribute__((target("avx512f,popcnt"))) static unsigned count_vectors(const uint64_t *v,
									unsigned n, uint64_t x)
{
	__m512i same = _mm512_set1_epi64((long long)x), sum = _mm512_setzero_si512();
	__m512i one = _mm512_set1_epi64(1);
	unsigned i = 0;

	for (; i + 8 <= n; i += 8)
		sum = _mm512_mask_add_epi64(
			sum, _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(v + i), same), sum, one);
	return (unsigned)_mm512_reduce_add_epi64(sum) + count_plain(v + i, n - i, x);
}

unsigned scan_count(const uint64_t *v, unsigned n, uint64_t x)
{
	return vectors() ? count_vectors(v, n, x) : count_plain(v, n, x);
}

static unsigned others_plain(uint64_t *to, const uint64_t *v, unsigned n, uint64_t x)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t y = v[i];

		to[k] = y;
		k += y != x;
	}
	return k;
}

/* What it stores beyond the last one kept lies below i + 8: it has been read. */
__attribute__((target("avx512f,popcnt"))) static unsigned others_vectors(uint64_t *to,
									 const uint64_t *v,
									 unsigned n, uint64_t x)
{
	__m512i same = _mm512_set1_epi64((long long)x);
	unsigned i = 0, k = 0;

	for (; i + 8 <= n; i += 8) {
		__m512i y = _mm512_loadu_si512(v + i);
		__mmask8 m = _mm512_cmpneq_epi64_mask(y, same);

		_mm512_storeu_si512(to + k, _mm512_maskz_compress_epi64(m, y));
		k += (unsigned)__builtin_popcount(m);
	}
	return k + others_plain(to + k, v + i, n - i, x);
}

unsigned scan_others(uint64_t *to, const uint64_t *v, unsigned n, uint64_t x)
{
	return vectors() ? others_vectors(to, v, n, x) : others_plain(to, v, n, x);
}

static bool differ_plain(const uint64_t *v, unsigned n, bool rises)
{
	bool differ = true;

	for (unsigned i = 1; i < n; i++)
		differ &= rises ? v[i] > v[i - 1] : v[i] < v[i - 1];
	return differ;
}

__attribute__((target("avx512f"))) static bool differ_vectors(const uint64_t *v, unsigned n,
							      bool rises)
{
	unsigned i = 1;

	for (; i + 8 <= n; i += 8) {
		__m512i a = _mm512_loadu_si512(v + i - 1), b = _mm512_loadu_si512(v + i);

		if ((rises ? _mm512_cmplt_epu64_mask(a, b) : _mm512_cmplt_epu64_mask(b, a)) != 0xff)
			return false;
	}
	return differ_plain(v + i - 1, n - i + 1, rises);
}

bool scan_differ(const uint64_t *v, unsigned n)
{
	bool rises;

	if (n < DIFFER_FROM)
		return false;
	rises = v[1] > v[0];
	if (vectors())
		return differ_vectors(v, n, rises);
	return (v[2] > v[1]) == rises && (v[3] > v[2]) == rises && differ_plain(v, n, rises);
}
