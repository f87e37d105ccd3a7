/* SPDX-License-Identifier: MIT */
/* Names as their languages write them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "image/image.h"

static void test_demangle(void **state)
{
	static const char *const pairs[][2] = {
		{ "main", "main" },
		{ "_start", "_start" },
		{ "_Z", "_Z" },
		{ "_Znonsense", "_Znonsense" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_ZN3foo3barEi@plt", "foo::bar(int)@plt" },
		{ "_Znonsense@plt", "_Znonsense@plt" },
		{ "memcpy@plt", "memcpy@plt" },
		{ "@plt", "@plt" },
		{ "", "" },
	};
	char buf[128], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_string_equal(image_demangle(pairs[i][0], buf, sizeof(buf)), pairs[i][1]);
	assert_string_equal(image_demangle("_ZN3foo3barEi", small, sizeof(small)), "foo::ba");
	assert_string_equal(image_demangle("_ZN3foo3barEi@plt", small, sizeof(small)), "foo::ba");
	assert_string_equal(image_demangle("long_name_in_c", small, sizeof(small)), "long_na");
	assert_string_equal(image_demangle("_ZN3foo3barEi", small, 1), "");
}

/* Each parameter is a pair of the one before: sixty of them would be 2^60 names. */
static void test_demangle_bomb(void **state)
{
	char bomb[1024] = "_Z1fSt4pairIiiE", buf[4096];
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	for (int i = 0; i < 30; i++)
		snprintf(bomb + strlen(bomb), sizeof(bomb) - strlen(bomb), "S_IS%c_S%c_E",
			 digits[i], digits[i]);
	image_demangle(bomb, buf, sizeof(buf));
	assert_memory_equal(buf, "f(std::pair<int, int>", 21);
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
