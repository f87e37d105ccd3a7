/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static const struct {
	const char *from, *to;
} text[] = {
	{ "", "" },
	{ "plain ASCII ~", "plain ASCII ~" },
	{ "\xc2\xb5s, \xe2\x80\xa6, \xe4\xb8\xad, \xf0\x9f\x98\x80",
	  "\xc2\xb5s, \xe2\x80\xa6, \xe4\xb8\xad, \xf0\x9f\x98\x80" },
	{ "\033[31m", "?[31m" },
	{ "a\tb\nc\rd\x7f", "a?b?c?d?" },
	{ "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "???\xc2\xa0" },
	{ "\x9b"
	  "31m",
	  "?31m" },
	{ "\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c\xe2\x80\x8fx", "?????x" },
	{ "\xe2\x80\xad\xe2\x80\xaf\xe2\x81\xa5", "?\xe2\x80\xaf\xe2\x81\xa5" },
	/* too long, a surrogate, beyond the last, no character */
	{ "\xc0\x9b|\xe0\x82\x9b|\xf0\x80\x82\x9b", "??|???|????" },
	{ "\xed\xa0\x80|\xf4\x90\x80\x80|\xef\xbf\xbe", "???|????|?" },
	/* cut, at the end and by another character */
	{ "\xe2\x82|\xf0\x9f\x98|\xc3(\xff", "??|???|?(?" },
	{ "\xe2\x82", "??" },
};

#define TEXTS (sizeof(text) / sizeof(text[0]))

static void test_clean(void **state)
{
	char buf[64];

	(void)state;
	for (size_t i = 0; i < TEXTS; i++) {
		strcpy(buf, text[i].from);
		assert_string_equal(text_clean(buf), text[i].to);
		assert_string_equal(text_clean(buf), text[i].to);
	}
}

static void test_copy(void **state)
{
	char buf[8];

	(void)state;
	assert_string_equal(text_copy("a\033b", buf, sizeof(buf)), "a?b");
	/* a character that is cut in two is none */
	assert_string_equal(text_copy("123456\xc2\xb5", buf, sizeof(buf)), "123456?");
}

static void test_put(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEXTS; i++) {
		char *got = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&got, &n);

		assert_non_null(f);
		text_put(text[i].from, f);
		fclose(f);
		assert_string_equal(got, text[i].to);
		free(got);
	}
}

/* Each character there is goes through, or is one '?'. */
static void test_all(void **state)
{
	size_t hidden = 0;

	(void)state;
	for (uint32_t c = 1; c < 0x110000; c++) {
		char buf[8] = { 0 };
		const char *at = buf;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		if (c < 0x80) {
			buf[0] = (char)c;
		} else if (c < 0x800) {
			buf[0] = (char)(0xc0 | c >> 6);
			buf[1] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			buf[0] = (char)(0xe0 | c >> 12);
			buf[1] = (char)(0x80 | (c >> 6 & 0x3f));
			buf[2] = (char)(0x80 | (c & 0x3f));
		} else {
			buf[0] = (char)(0xf0 | c >> 18);
			buf[1] = (char)(0x80 | (c >> 12 & 0x3f));
			buf[2] = (char)(0x80 | (c >> 6 & 0x3f));
			buf[3] = (char)(0x80 | (c & 0x3f));
		}
		assert_int_equal(text_next(&at), c);
		assert_int_equal(*at, 0);
		hidden += !text_shows(c);
		assert_int_equal(text_span(buf), text_shows(c) ? strlen(buf) : 0);
	}
	/* 31 of C0, DEL and 32 of C1, 1 + 2 + 5 + 4 that turn, 2 separators, 2 that are none */
	assert_int_equal(hidden, 31 + 33 + 12 + 2 + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
