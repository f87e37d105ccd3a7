/* SPDX-License-Identifier: MIT */
#include "sketch/batch_scan.h"

#include <immintrin.h>
#include <string.h>

#include "base/invariant.h"

#define DIFFER_FROM 64 /* number of values from which it is worth testing that all differ */
#define TURN_AHEAD 16  /* rows that are prefetched */

static bool vectors(void)
{
	static signed char can = -1;

	if (can < 0)
		can = !!__builtin_cpu_supports("avx512f");
	return can;
}

/* Tells whether the CPU has the vector instructions for bytes. */
static bool bytes(void)
{
	static signed char can = -1;

	if (can < 0)
		can = vectors() && __builtin_cpu_supports("avx512bw");
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

/* The store beyond the last value kept stays below i + 8, in a part that has been read already. */
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
	invariant(to == v || to + n <= v || v + n <= to); /* in place, or into another array */
	return vectors() ? others_vectors(to, v, n, x) : others_plain(to, v, n, x);
}

static void hashes_plain(uint16_t *to, const uint64_t *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = (uint16_t)scan_hash(v[i]);
}

__attribute__((target("avx512f"))) static void hashes_vectors(uint16_t *to, const uint64_t *v,
							      unsigned n)
{
	__m512i by = _mm512_set1_epi64(0x9e3779b1), low = _mm512_set1_epi64(SCAN_SIEVE - 1);
	unsigned i = 0;

	for (; i + 8 <= n; i += 8) {
		__m512i x = _mm512_loadu_si512(v + i);

		x = _mm512_mul_epu32(_mm512_xor_si512(x, _mm512_srli_epi64(x, 32)), by);
		x = _mm512_and_si512(_mm512_srli_epi64(x, 22), low);
		_mm_storeu_si128((__m128i *)(void *)(to + i), _mm512_cvtepi64_epi16(x));
	}
	hashes_plain(to + i, v + i, n - i);
}

/* Two tables are used in turn: an increment need not wait for that of the value before, which is
 * often the same value. */
static void count_hashes(uint8_t in[2][SCAN_SIEVE], const uint16_t *which, unsigned n)
{
	unsigned i = 0;

	memset(in, 0, 2 * SCAN_SIEVE);
	for (; i + 2 <= n; i += 2) {
		in[0][which[i]]++;
		in[1][which[i + 1]]++;
	}
	if (i < n)
		in[0][which[i]]++;
}

static void add_plain(uint8_t *to, const uint8_t in[2][SCAN_SIEVE])
{
	for (unsigned i = 0; i < SCAN_SIEVE; i += 16) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(in[0] + i));
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(in[1] + i));

		_mm_storeu_si128((__m128i *)(void *)(to + i), _mm_add_epi8(a, b));
	}
}

__attribute__((target("avx512f,avx512bw"))) static void add_vectors(uint8_t *to,
								    const uint8_t in[2][SCAN_SIEVE])
{
	for (unsigned i = 0; i < SCAN_SIEVE; i += 64)
		_mm512_storeu_si512(to + i, _mm512_add_epi8(_mm512_loadu_si512(in[0] + i),
							    _mm512_loadu_si512(in[1] + i)));
}

void scan_sieve(uint8_t sieve[SCAN_SIEVE], uint16_t *which, const uint64_t *v, unsigned n)
{
	uint8_t in[2][SCAN_SIEVE];

	invariant(n <= SCAN_MAX);
	if (vectors())
		hashes_vectors(which, v, n);
	else
		hashes_plain(which, v, n);
	count_hashes(in, which, n);
	if (bytes())
		add_vectors(sieve, in);
	else
		add_plain(sieve, in);
}

/* c, or 0 where c exceeds `most`. */
static __m128i no_more(__m128i c, __m128i most)
{
	return _mm_and_si128(c, _mm_cmpeq_epi8(_mm_min_epu8(c, most), c));
}

static unsigned fullest_plain(const uint8_t *sieve, uint8_t most)
{
	__m128i limit = _mm_set1_epi8((char)most);
	__m128i m[2] = { _mm_setzero_si128(), _mm_setzero_si128() };
	uint8_t each[16];
	unsigned fullest = 0;

	for (unsigned i = 0; i < SCAN_SIEVE; i += 32) {
		const __m128i *c = (const __m128i *)(const void *)(sieve + i);

		m[0] = _mm_max_epu8(m[0], no_more(_mm_loadu_si128(c), limit));
		m[1] = _mm_max_epu8(m[1], no_more(_mm_loadu_si128(c + 1), limit));
	}
	_mm_storeu_si128((__m128i *)(void *)each, _mm_max_epu8(m[0], m[1]));
	for (unsigned i = 0; i < sizeof(each); i++)
		fullest = each[i] > fullest ? each[i] : fullest;
	return fullest;
}

__attribute__((target("avx512f,avx512bw"))) static unsigned fullest_vectors(const uint8_t *sieve,
									    uint8_t most)
{
	__m512i limit = _mm512_set1_epi8((char)most), m = _mm512_setzero_si512();
	uint8_t each[64];
	unsigned fullest = 0;

	for (unsigned i = 0; i < SCAN_SIEVE; i += 64) {
		__m512i c = _mm512_loadu_si512(sieve + i);

		m = _mm512_mask_max_epu8(m, _mm512_cmple_epu8_mask(c, limit), m, c);
	}
	_mm512_storeu_si512(each, m);
	for (unsigned i = 0; i < sizeof(each); i++)
		fullest = each[i] > fullest ? each[i] : fullest;
	return fullest;
}

unsigned scan_fullest(const uint8_t sieve[SCAN_SIEVE], uint8_t most)
{
	return bytes() ? fullest_vectors(sieve, most) : fullest_plain(sieve, most);
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

static void narrow_plain(uint64_t *to, const uint64_t *v, unsigned n, unsigned shift, uint64_t mask)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = v[i] >> shift & mask;
}

__attribute__((target("avx512f"))) static void narrow_vectors(uint64_t *to, const uint64_t *v,
							      unsigned n, unsigned shift,
							      uint64_t mask)
{
	__m512i in = _mm512_set1_epi64((long long)mask);
	__m128i by = _mm_cvtsi32_si128((int)shift);
	unsigned i = 0;

	for (; i + 8 <= n; i += 8) {
		__m512i x = _mm512_srl_epi64(_mm512_loadu_si512(v + i), by);

		_mm512_storeu_si512(to + i, _mm512_and_si512(x, in));
	}
	narrow_plain(to + i, v + i, n - i, shift, mask);
}

void scan_narrow(uint64_t *to, const uint64_t *v, unsigned n, unsigned shift, uint64_t mask)
{
	invariant(shift < 64);
	if (vectors())
		narrow_vectors(to, v, n, shift, mask);
	else
		narrow_plain(to, v, n, shift, mask);
}

/* Transposes the even or the odd words of eight rows, held in four vectors with two alternating
 * rows each, to columns 0, 2, 4, 6 or 1, 3, 5, 7. */
__attribute__((target("avx512f"))) static inline void put_columns(uint64_t *to, __m512i rows01,
								  __m512i rows23, __m512i rows45,
								  __m512i rows67)
{
	__m512i a = _mm512_shuffle_i64x2(rows01, rows23, 0x88);
	__m512i b = _mm512_shuffle_i64x2(rows45, rows67, 0x88);
	__m512i c = _mm512_shuffle_i64x2(rows01, rows23, 0xdd);
	__m512i d = _mm512_shuffle_i64x2(rows45, rows67, 0xdd);

	_mm512_storeu_si512(to, _mm512_shuffle_i64x2(a, b, 0x88));
	_mm512_storeu_si512(to + 2 * SCAN_MAX, _mm512_shuffle_i64x2(c, d, 0x88));
	_mm512_storeu_si512(to + 4 * SCAN_MAX, _mm512_shuffle_i64x2(a, b, 0xdd));
	_mm512_storeu_si512(to + 6 * SCAN_MAX, _mm512_shuffle_i64x2(c, d, 0xdd));
}

__attribute__((target("avx512f"))) static void turn_vectors(uint64_t to[SCAN_COLUMNS][SCAN_MAX],
							    const uint64_t *row, unsigned stride,
							    unsigned words, unsigned n)
{
	const __mmask8 in = (__mmask8)((1u << words) - 1);
	const size_t s = stride;
	unsigned i = 0;

	for (; i + 8 <= n; i += 8, row += 8 * s) {
		__m512i r0 = _mm512_maskz_loadu_epi64(in, row);
		__m512i r1 = _mm512_maskz_loadu_epi64(in, row + s);
		__m512i r2 = _mm512_maskz_loadu_epi64(in, row + 2 * s);
		__m512i r3 = _mm512_maskz_loadu_epi64(in, row + 3 * s);
		__m512i r4 = _mm512_maskz_loadu_epi64(in, row + 4 * s);
		__m512i r5 = _mm512_maskz_loadu_epi64(in, row + 5 * s);
		__m512i r6 = _mm512_maskz_loadu_epi64(in, row + 6 * s);
		__m512i r7 = _mm512_maskz_loadu_epi64(in, row + 7 * s);

		for (size_t k = 0; k < 8; k++)
			__builtin_prefetch(row + (TURN_AHEAD + k) * s);
		put_columns(to[0] + i, _mm512_unpacklo_epi64(r0, r1), _mm512_unpacklo_epi64(r2, r3),
			    _mm512_unpacklo_epi64(r4, r5), _mm512_unpacklo_epi64(r6, r7));
		put_columns(to[1] + i, _mm512_unpackhi_epi64(r0, r1), _mm512_unpackhi_epi64(r2, r3),
			    _mm512_unpackhi_epi64(r4, r5), _mm512_unpackhi_epi64(r6, r7));
	}
	for (; i < n; i++, row += s)
		for (unsigned k = 0; k < words; k++)
			to[k][i] = row[k];
}

bool scan_turn(uint64_t to[SCAN_COLUMNS][SCAN_MAX], const uint64_t *row, unsigned stride,
	       unsigned words, unsigned n)
{
	invariant(n <= SCAN_MAX && words <= stride);
	if (!vectors())
		return false;
	turn_vectors(to, row, stride, words < SCAN_COLUMNS ? words : SCAN_COLUMNS, n);
	return true;
}
