/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fmt.h"

static char buf[64];

static void test_count(void **state)
{
	(void)state;
	assert_string_equal(fmt_count(0, buf, sizeof(buf)), "0");
	assert_string_equal(fmt_count(999, buf, sizeof(buf)), "999");
	assert_string_equal(fmt_count(1000, buf, sizeof(buf)), "1,000");
	assert_string_equal(fmt_count(12034, buf, sizeof(buf)), "12,034");
	assert_string_equal(fmt_count(UINT64_MAX, buf, sizeof(buf)), "18,446,744,073,709,551,615");
}

static void test_short(void **state)
{
	static const struct {
		double v;
		const char *text;
	} of[] = {
		{ 0, "0" },	   { 1, "1" },	       { 1.25, "1.2" },	  { 9.96, "10" },
		{ 999, "999" },	   { 999.6, "1.0k" },  { 1234, "1.2k" },  { 99949, "100k" },
		{ 133e6, "133M" }, { 4.56e9, "4.6G" }, { 7e15, "7000T" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_string_equal(fmt_short(of[i].v, buf, sizeof(buf)), of[i].text);
}

static void test_size(void **state)
{
	(void)state;
	assert_string_equal(fmt_size(0, buf, sizeof(buf)), "0 B");
	assert_string_equal(fmt_size(999, buf, sizeof(buf)), "999 B");
	assert_string_equal(fmt_size(1200000, buf, sizeof(buf)), "1.2 MB");
	assert_string_equal(fmt_size(999960, buf, sizeof(buf)), "1.0 MB");
	assert_string_equal(fmt_size(UINT64_MAX, buf, sizeof(buf)), "18446744.1 TB");
}

static void test_percent(void **state)
{
	(void)state;
	assert_string_equal(fmt_percent(0, buf, sizeof(buf)), "0.0");
	assert_string_equal(fmt_percent(0.1234, buf, sizeof(buf)), "12.3");
	assert_string_equal(fmt_percent(1, buf, sizeof(buf)), "100.0");
	assert_string_equal(fmt_percent(0.0002, buf, sizeof(buf)), "0.02");
}

static void test_time(void **state)
{
	(void)state;
	assert_string_equal(fmt_time(12, buf, sizeof(buf)), "12 ns");
	assert_string_equal(fmt_time(45600, buf, sizeof(buf)), "45.6 us");
	assert_string_equal(fmt_time(45.6e6, buf, sizeof(buf)), "45.6 ms");
	assert_string_equal(fmt_time(1.234e9, buf, sizeof(buf)), "1.23 s");
}

static void test_hex_keeps_what_differs(void **state)
{
	(void)state;
	assert_string_equal(fmt_hex(0, buf, sizeof(buf)), "0x0");
	assert_string_equal(fmt_hex(0x3c8, buf, sizeof(buf)), "0x3c8");
	assert_string_equal(fmt_hex(0xffffffff, buf, sizeof(buf)), "0xffffffff");
	assert_string_equal(fmt_hex(UINT64_MAX, buf, sizeof(buf)), "0xff..ff");
	assert_string_equal(fmt_hex(0xfffffffffffffff0, buf, sizeof(buf)), "0xff..f0");
	assert_string_equal(fmt_hex(0x555555555555551c, buf, sizeof(buf)), "0x55..1c");
	assert_string_equal(fmt_hex(0xffffffffff601234, buf, sizeof(buf)), "0xff..601234");
	assert_string_equal(fmt_hex(0xffff880012345678, buf, sizeof(buf)), "0xffff880012345678");
	assert_string_equal(fmt_hex(0x7fffffffffffffff, buf, sizeof(buf)), "0x7fffffffffffffff");
}

static void test_shell_quote(void **state)
{
	char *argv[] = { "gzip", "-9", "a b", "it's", "", "$HOME", "x=1", NULL };
	char *none[] = { NULL };
	char *s = fmt_shell_quote(argv);

	(void)state;
	assert_string_equal(s, "gzip -9 'a b' 'it'\\''s' '' '$HOME' x=1");
	free(s);
	s = fmt_shell_quote(none);
	assert_string_equal(s, "");
	free(s);
}

static void test_short_buffers_end_in_zero(void **state)
{
	char tiny[4];

	(void)state;
	assert_string_equal(fmt_count(1234567, tiny, sizeof(tiny)), "1,2");
	assert_string_equal(fmt_hex(UINT64_MAX, tiny, sizeof(tiny)), "0xf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_hex_keeps_what_differs),
		cmocka_unit_test(test_shell_quote),
		cmocka_unit_test(test_short_buffers_end_in_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
