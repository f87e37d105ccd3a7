/* SPDX-License-Identifier: MIT */
/* Passes over values, whichever instructions they use here, against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "sketch/batch_scan.h"

static uint64_t state = 1;

static uint64_t draw(void)
{
	return random_bits(&state);
}

/* So many values, of a few different ones, of many, or all the same. */
static void fill(uint64_t *v, unsigned n)
{
	const uint64_t different[] = { 1, 3, 100, UINT64_MAX };
	uint64_t d = different[draw() % 4];

	for (unsigned i = 0; i < n; i++)
		v[i] = draw() % d * 0x100000001;
}

static void test_sieve(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n <= SCAN_MAX; n++) {
		uint8_t sieve[SCAN_SIEVE], expected[SCAN_SIEVE] = { 0 };
		uint16_t which[SCAN_MAX];
		uint64_t v[SCAN_MAX];

		fill(v, n);
		memset(sieve, 0xa5, sizeof(sieve));
		scan_sieve(sieve, which, v, n);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(which[i], scan_hash(v[i]));
			expected[scan_hash(v[i])]++;
		}
		assert_memory_equal(sieve, expected, sizeof(sieve));
	}
}

static void test_fullest(void **unused)
{
	(void)unused;
	for (unsigned round = 0; round < 512; round++) {
		uint8_t sieve[SCAN_SIEVE], most = (uint8_t)(round / 2);
		unsigned expected = 0;

		/* in every second round few are no more than that */
		for (unsigned i = 0; i < SCAN_SIEVE; i++)
			sieve[i] = (uint8_t)(round % 2 ? draw() : draw() | 0xf0);
		sieve[draw() % SCAN_SIEVE] = (uint8_t)draw();
		for (unsigned i = 0; i < SCAN_SIEVE; i++)
			if (sieve[i] <= most && sieve[i] > expected)
				expected = sieve[i];
		assert_int_equal(scan_fullest(sieve, most), expected);
	}
}

static void test_narrow(void **unused)
{
	const struct {
		unsigned shift;
		uint64_t mask;
	} how[] = { { 0, UINT64_MAX }, { 0, 0xffffffff }, { 0, 0xff }, { 8, 0xff } };

	(void)unused;
	for (unsigned n = 0; n <= SCAN_MAX; n++) {
		uint64_t v[SCAN_MAX], to[SCAN_MAX + 1];
		unsigned k = n % 4;

		for (unsigned i = 0; i < n; i++)
			v[i] = draw();
		to[n] = 42;
		scan_narrow(to, v, n, how[k].shift, how[k].mask);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(to[i], v[i] >> how[k].shift & how[k].mask);
		assert_int_equal(to[n], 42);
	}
}

/* Rows that end where the array does: nothing behind the last one may be read. */
static void test_turn(void **unused)
{
	(void)unused;
	for (unsigned stride = 1; stride <= 20; stride++)
		for (unsigned n = 0; n <= SCAN_MAX; n += 1 + n / 20) {
			uint64_t to[SCAN_COLUMNS][SCAN_MAX];
			uint64_t *row = malloc(n * stride * sizeof(*row) + 1);

			assert_non_null(row);
			for (unsigned i = 0; i < n * stride; i++)
				row[i] = draw();
			for (unsigned first = 0; first < stride; first += SCAN_COLUMNS) {
				if (!scan_turn(to, row + first, stride, stride - first, n)) {
					free(row);
					skip();
				}
				for (unsigned k = 0; k < SCAN_COLUMNS && first + k < stride; k++)
					for (unsigned i = 0; i < n; i++)
						assert_int_equal(to[k][i],
								 row[i * stride + first + k]);
			}
			free(row);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sieve),
		cmocka_unit_test(test_fullest),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
