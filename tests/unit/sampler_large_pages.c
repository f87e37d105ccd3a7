/* SPDX-License-Identifier: MIT */
/* How much of a process's memory lies in large pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "sampler/large_pages.h"

#define MIB (1ul << 20)

static void what_the_kernel_tells_is_added_up(void **state)
{
	static const char text[] = "5581a4c00000-7ffd8b1ff000 ---p 00000000 00:00 0      [rollup]\n"
				   "Rss:              900000 kB\nAnonymous:        102400 kB\n"
				   "AnonHugePages:     81920 kB\nShared_Hugetlb:      2048 kB\n"
				   "Private_Hugetlb:     1024 kB\nSwap:                  0 kB\n";
	uint64_t memory = 0, large = 0;

	(void)state;
	assert_true(large_pages_parse(text, &memory, &large));
	assert_int_equal(memory, 102400 + 3072);
	assert_int_equal(large, 81920 + 3072);
	assert_true(large_pages_parse("Anonymous: 12 kB\n", &memory, &large));
	assert_true(memory == 12 && large == 0);
}

static void text_that_tells_nothing_is_refused(void **state)
{
	static const char *const text[] = { "",
					    "\n",
					    "Anonymous:",
					    "Anonymous: 0 kB\n",
					    "LazyAnonymous: 5 kB\n",
					    "AnonHugePages: 5 kB\n",
					    "Anonymous: 5 kB\nAnonHugePages: 6 kB\n" };
	uint64_t memory, large;

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		assert_false(large_pages_parse(text[i], &memory, &large));
}

static void a_process_is_looked_at_now_and_then(void **state)
{
	const struct broker none = BROKER_NONE;
	struct large_pages l = { .pid = getpid() };
	uint64_t once;
	uint8_t *p =
		mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	memset(p, 1, 8 * MIB);
	large_pages_look(&l, &none);
	if (!l.memory_kib)
		skip(); /* this kernel adds nothing up */
	once = l.memory_kib;
	assert_true(once >= 8 * MIB / 1024 && l.large_kib <= once);
	assert_int_equal(l.small_kib, once - l.large_kib);
	assert_true(l.next > 0 && !l.pid);
	l.pid = getpid();
	large_pages_look(&l, &none);
	assert_int_equal(l.memory_kib, once); /* too early */
	l.next = 0;
	large_pages_look(&l, &none);
	assert_true(l.memory_kib > once);
	once = l.memory_kib;
	l.next = 0;
	large_pages_look(&l, &none); /* no sample was taken since */
	assert_int_equal(l.memory_kib, once);
	munmap(p, 8 * MIB);
}

static void processes_that_ended_are_passed_over(void **state)
{
	const struct broker none = BROKER_NONE;
	struct large_pages l = { .pid = INT32_MAX };

	(void)state;
	large_pages_look(&l, &none);
	assert_true(!l.memory_kib && !l.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_tells_is_added_up),
		cmocka_unit_test(text_that_tells_nothing_is_refused),
		cmocka_unit_test(a_process_is_looked_at_now_and_then),
		cmocka_unit_test(processes_that_ended_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
