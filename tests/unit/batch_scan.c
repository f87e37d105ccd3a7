/* SPDX-License-Identifier: MIT */
/* Passes over values, whichever instructions they use here, against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sieve),
		cmocka_unit_test(test_fullest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
