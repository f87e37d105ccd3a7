/* SPDX-License-Identifier: MIT */
/* Records come out as they went in, whatever their sizes, while others come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "sampler/backlog.h"

#define RECORDS 20000
#define BYTES 3000

/* A record that tells its number, and has a length that follows from it. */
static size_t make(uint64_t number, uint8_t record[BYTES])
{
	uint64_t seed = number * 2 + 1;
	size_t n = 8 + random_below(&seed, BYTES - 8);

	memset(record, (int)(number & 0xff), n);
	memcpy(record, &number, sizeof(number));
	return n;
}

static void put(struct backlog *b, uint64_t number)
{
	uint8_t record[BYTES];
	size_t n = make(number, record);

	assert_true(backlog_put(b, record, n));
}

static void take(struct backlog *b, uint64_t number)
{
	uint8_t record[BYTES];
	size_t n = make(number, record), bytes = 0;
	const void *got = backlog_take(b, &bytes);

	assert_non_null(got);
	assert_int_equal((uintptr_t)got % 8, 0);
	assert_int_equal(bytes, n);
	assert_memory_equal(got, record, n);
}

static void test_empty(void **unused)
{
	struct backlog b = { 0 };
	size_t bytes;

	(void)unused;
	assert_null(backlog_take(&b, &bytes));
	assert_int_equal(backlog_waiting(&b), 0);
	put(&b, 1);
	assert_true(backlog_waiting(&b) > 0);
	take(&b, 1);
	assert_int_equal(backlog_waiting(&b), 0);
	assert_null(backlog_take(&b, &bytes));
	backlog_fini(&b);
}

/* Some in, some out, never more than a few behind: it does not grow beyond what waits at most. */
static void test_order(void **unused)
{
	struct backlog b = { 0 };
	uint64_t seed = 7, in = 0, out = 0;
	size_t most = 0;

	(void)unused;
	while (out < RECORDS) {
		for (uint64_t n = random_below(&seed, 100); n && in < RECORDS; n--)
			put(&b, in++);
		if (backlog_waiting(&b) > most)
			most = backlog_waiting(&b);
		for (uint64_t n = random_below(&seed, 100); n && out < in; n--)
			take(&b, out++);
		if (in - out > 300)
			while (out < in)
				take(&b, out++);
	}
	assert_int_equal(backlog_waiting(&b), 0);
	assert_true(b.cap * 8 <= 8 * most + 1048576);
	backlog_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
