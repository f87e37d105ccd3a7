/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "query/name.h"

static char buf[256];

static const char *fit(const char *name, int width)
{
	return name_fit(name, width, 0, buf, sizeof(buf));
}

static void test_what_fits_is_whole(void **state)
{
	(void)state;
	assert_string_equal(fit("longest_match", 13), "longest_match");
	assert_string_equal(fit("std::map<int, long>::find(int const&)", 40),
			    "std::map<int, long>::find(int const&)");
	assert_string_equal(fit("", 5), "");
}

static void test_what_gives_way_first(void **state)
{
	(void)state;
	assert_string_equal(fit("std::map<int, std::pair<int, long>>::find(int const&)", 30),
			    "std::map<..>::find(int const&)");
	assert_string_equal(fit("std::map<int, std::pair<int, long>>::find(int const&)", 20),
			    "std::map<..>::find");
	assert_string_equal(fit("std::map<int, std::pair<int, long>>::find(int const&)", 14),
			    "std::map::find");
	assert_string_equal(fit("std::map<int, std::pair<int, long>>::find(int const&)", 11),
			    "std..::find");
	assert_string_equal(fit("a_function_of_one_library", 14), "a_fu.._library");
	assert_string_equal(fit("Stream<char>::operator<<(std::vector<int> const&)", 26),
			    "Stream<..>::operator<<");
	assert_string_equal(fit("Pointer<char>::operator->() const", 31),
			    "Pointer<..>::operator->() const");
	assert_string_equal(fit("std::panic::catch_unwind::<&dyn core::ops::Fn() -> i32, i32>", 24),
			    "std::panic::catch_unwind");
	assert_string_equal(fit("Outer::<T>::find::<u8>(int const&)", 11), "Outer::find");
}

static void test_marks_stay(void **state)
{
	(void)state;
	assert_string_equal(fit("std::map<int, long>::find(int const&) (inlined)", 50),
			    "std::map<int, long>::find(int const&) (inlined)");
	assert_string_equal(fit("std::map<int, long>::find(int const&) (inlined)", 30),
			    "std::map<..>::find (inlined)");
	assert_string_equal(fit("std::unique_ptr<Node, Deleter>::~unique_ptr() (inlined)", 28),
			    "std::..nique_ptr() (inlined)");
	/* too narrow for a mark beside a name */
	assert_string_equal(fit("std::map<int, long>::find(int const&) (inlined)", 14),
			    "std::map::find");
}

static void test_width_is_kept(void **state)
{
	static const char *const names[] = {
		"std::map<int, std::pair<int, long>>::find(int const&)",
		"operator<",
		"operator<<",
		"a<b<c<d<e",
		">>>>",
		"->->->",
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int width = 0; width < 60; width++)
			for (unsigned attempt = 0; attempt < 4; attempt++)
				assert_true(text_columns(name_fit(names[i], width, attempt, buf,
								  sizeof(buf))) <= width);
}

/* Names that share both ends, or all but their parameters or template arguments. */
static void test_no_two_look_the_same(void **state)
{
	static const char *const same_ends[] = {
		"std::__detail::_Map_base<int, true>::operator[](int&)",
		"std::__detail::_Map_base<long, true>::operator[](long&)",
		"std::__detail::_Insert_base<int, true>::operator[](int&)",
		"std::__detail::_Insert<int, true>::operator[](int&)",
	};
	struct names t = { 0 };
	char shown[40][64], name[64];
	int n = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		names_fit(&t, same_ends[i], 16, shown[n++], sizeof(shown[0]));
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "the_same_beginning_%d_and_the_same_end", i);
		names_fit(&t, name, 16, shown[n++], sizeof(shown[0]));
	}
	for (int i = 0; i < n; i++) {
		assert_true(text_columns(shown[i]) <= 16);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(shown[i], shown[k]);
	}
	/* a name that comes again looks as before */
	assert_string_equal(names_fit(&t, same_ends[1], 16, buf, sizeof(buf)), shown[1]);
	names_forget(&t);
	assert_null(t.shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_is_whole),
		cmocka_unit_test(test_what_gives_way_first),
		cmocka_unit_test(test_marks_stay),
		cmocka_unit_test(test_width_is_kept),
		cmocka_unit_test(test_no_two_look_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
