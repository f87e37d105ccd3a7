/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/perf_map.h"

static struct perf_map map;

static void parse(const char *text)
{
	assert_int_equal(perf_map_parse(&map, strdup(text), strlen(text)), 0);
}

static const char *name_at(uint64_t addr)
{
	const struct perf_map_entry *e = perf_map_find(&map, addr);

	return e ? e->name : "";
}

static void test_find(void **state)
{
	(void)state;
	parse("2000 20 LazyCompile:*b /x.js:3\n1000 10 a\n");
	assert_int_equal(map.n, 2);
	assert_string_equal(name_at(0xfff), "");
	assert_string_equal(name_at(0x1000), "a");
	assert_string_equal(name_at(0x100f), "a");
	assert_string_equal(name_at(0x1010), "");
	assert_string_equal(name_at(0x201f), "LazyCompile:*b /x.js:3");
	assert_string_equal(name_at(0x2020), "");
	perf_map_fini(&map);
}

/* Code that was replaced: the line that came last holds. */
static void test_replaced(void **state)
{
	(void)state;
	parse("1000 100 old\n1040 10 new\n1000 10 newest\n");
	assert_string_equal(name_at(0x1005), "newest");
	assert_string_equal(name_at(0x1020), "old");
	assert_string_equal(name_at(0x1045), "new");
	perf_map_fini(&map);
	parse("1040 10 before\n1000 100 after\n");
	assert_string_equal(name_at(0x1045), "after");
	perf_map_fini(&map);
}

static void test_malformed(void **state)
{
	static const char *const none[] = {
		"",
		"\n",
		"1000 10\n",
		"1000 10 \n",
		"1000  10 a\n",
		"-1 10 a\n",
		"1000 0 a\n",
		"ffffffffffffffff 2 a\n",
		"10000000000000000 1 a\n",
		"x 1 a\n",
		"1000 10 half of a line",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		parse(none[i]);
		assert_int_equal(map.n, 0);
		perf_map_fini(&map);
	}
	parse("nonsense\n1000 10 a\n");
	assert_string_equal(name_at(0x1000), "a");
	perf_map_fini(&map);
}

static void test_file(void **state)
{
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	assert_int_equal(perf_map_read(&map, NULL, getpid(), getpid()), -1);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(perf_map_read(&map, NULL, getpid(), getpid()), -1);
	unlink(path);
	f = fopen(path, "w");
	fputs("1000 10 a\n", f);
	fclose(f);
	assert_int_equal(perf_map_read(&map, NULL, getpid(), getpid()), 0);
	assert_string_equal(name_at(0x1000), "a");
	perf_map_fini(&map);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
