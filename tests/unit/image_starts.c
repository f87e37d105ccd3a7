/* SPDX-License-Identifier: MIT */
/* Records in order of where they start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/starts.h"

struct record {
	uint64_t start;
	uint32_t number, pad;
};

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void check_sorted(uint64_t base, uint64_t range, size_t n)
{
	struct record *v = calloc(n + 1, sizeof(*v));
	uint8_t *seen = calloc(n + 1, 1);

	assert_non_null(v);
	assert_non_null(seen);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct record){ base + draw(range), (uint32_t)i, 0 };
	assert_true(starts_sort(v, n, sizeof(*v)));
	for (size_t i = 0; i < n; i++) {
		assert_false(seen[v[i].number]);
		seen[v[i].number] = 1;
		if (i) {
			assert_true(v[i - 1].start <= v[i].start);
			if (v[i - 1].start == v[i].start) /* what is equal stays in order */
				assert_true(v[i - 1].number < v[i].number);
		}
	}
	free(v);
	free(seen);
}

static void test_sorts(void **ctx)
{
	static const uint64_t range[] = { 1, 3, 2047, 2049, 1u << 22, 1u << 23, 1ull << 32 };

	(void)ctx;
	for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++) {
		check_sorted(0, range[i], 1000);
		check_sorted(0x7fff00000000, range[i], 3000);
		check_sorted(0 - range[i], range[i], 100);
	}
	for (size_t n = 0; n < 5; n++)
		check_sorted(1000, 3, n);
}

static void test_far_apart(void **ctx)
{
	struct record v[] = { { UINT64_MAX, 0, 0 }, { 5, 1, 0 }, { 7, 2, 0 } };
	struct record before[3];

	(void)ctx;
	memcpy(before, v, sizeof(v));
	assert_false(starts_sort(v, 3, sizeof(v[0])));
	assert_memory_equal(before, v, sizeof(v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_far_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
