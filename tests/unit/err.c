/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_set_formats_and_clears_the_hint(void **state)
{
	struct err e = { .code = 9, .hint = "old" };

	(void)state;
	assert_int_equal(err_set(&e, ERR_USAGE, "%s is %d", "x", 5), -1);
	assert_int_equal(e.code, ERR_USAGE);
	assert_string_equal(e.msg, "x is 5");
	assert_string_equal(e.hint, "");
}

static void test_sys_says_why_and_keeps_errno(void **state)
{
	struct err e;

	(void)state;
	errno = ENOSPC;
	assert_int_equal(err_sys(&e, "cannot write %s", "a.db"), -1);
	assert_int_equal(e.code, ERR_FAILED);
	assert_string_equal(e.msg, "cannot write a.db: No space left on device");
	assert_int_equal(errno, ENOSPC);
}

static void test_hint_leaves_the_message(void **state)
{
	struct err e;

	(void)state;
	err_set(&e, ERR_FAILED, "no");
	assert_int_equal(err_hint(&e, "try %s", "sudo"), -1);
	assert_string_equal(e.msg, "no");
	assert_string_equal(e.hint, "try sudo");
	assert_int_equal(e.code, ERR_FAILED);
}

static void test_long_messages_are_cut(void **state)
{
	char path[2000];
	struct err e;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	errno = ENOENT;
	err_sys(&e, "%s", path);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_hint(&e, "%s", path);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_formats_and_clears_the_hint),
		cmocka_unit_test(test_sys_says_why_and_keeps_errno),
		cmocka_unit_test(test_hint_leaves_the_message),
		cmocka_unit_test(test_long_messages_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
